// Package reports shows what runs and campaigns found. The JSON document is the truth; text, JUnit XML and one
// self-contained HTML page are drawn from it, so that none can say something else.
//
// A campaign writes campaign.json, campaign.txt, campaign.html and junit.xml, and one folder per failure with all that
// repeats and explains it. Files and folders appear whole or not at all.
package reports
