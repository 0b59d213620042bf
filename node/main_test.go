package main_test

import (
	"os"
	"testing"

	"github.com/gavel-ads/gavel/node/nodetest"
)

func TestMain(m *testing.M) { os.Exit(nodetest.Main(m)) }
