package operator

import _ "embed" // For the runbook.

// Runbook is the operator's manual, in Markdown. The management listener serves it at /docs/runbook.
//
//go:embed RUNBOOK.md
var Runbook string
