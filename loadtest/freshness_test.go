package main

import (
	"strings"
	"testing"
)

// The lag of reports is that from an acknowledgement to the first report that has it.
func TestFreshness(t *testing.T) {
	code, out, text := run(t, &fake{oldReports: 3}, "--fresh", "--rate", "50", "--duration", "700ms", "sales")
	if code != exitOK || len(out.Faults) > 0 {
		t.Fatalf("exit %d, %+v %s", code, out, text)
	}
	if lag := out.Freshness["max"]; lag < 3*freshnessPoll {
		t.Errorf("three readings were old, but the lag is %v", lag)
	}
	if text := out.text(); !strings.Contains(text, "event to report    p50") {
		t.Errorf("the report has no line of freshness: %s", text)
	}
	if _, without, _ := run(t, &fake{}, "sales"); without.Freshness != nil {
		t.Errorf("without --fresh: %v", without.Freshness)
	}
}

func TestReportsThatCannotBeRead(t *testing.T) {
	if code, out, _ := run(t, &fake{oldReports: -1}, "--fresh", "--rate", "50", "--duration", "700ms", "sales"); code != exitFailed ||
		len(out.Faults) != 1 || !strings.Contains(out.Faults[0], "how fresh reports are was not measured until the end") {
		t.Errorf("exit %d, faults %q", code, out.Faults)
	}
}
