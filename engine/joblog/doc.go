// Package joblog is the one source of truth about a job: numbered objects in the blob store, each created only if absent.
package joblog
