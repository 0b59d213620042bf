package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/store"
)

// TestResultOfAFailedJobIsJSON: the reason of a failure may contain what JSON escapes, such as the name of a network.
func TestResultOfAFailedJobIsJSON(t *testing.T) {
	const reason = "the connector of \"a\\b\"\n did not take the job"
	x := store.Job{Failures: store.JobRetriesMax}
	x.Fail(reason, time.UnixMilli(0))
	var got struct{ Error string }
	if err := json.Unmarshal([]byte(x.Result), &got); err != nil || got.Error != reason || x.Status != store.JobFailed {
		t.Errorf("status %s, result %s: %v", x.Status, x.Result, err)
	}
}
