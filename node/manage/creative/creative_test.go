package creative_test

import (
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

func TestScripts(t *testing.T) { managetest.RunScripts(t) }
