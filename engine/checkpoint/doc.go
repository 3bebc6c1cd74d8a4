// Package checkpoint has the plain data of checkpoints and the checkpoint coordinator as a pure core.
package checkpoint
