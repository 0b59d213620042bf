package main_test

import (
	"os"
	"testing"

	"github.com/gavel-ads/gavel/node/nodetest"
)

func TestMain(m *testing.M) {
	if fault, ok := os.LookupEnv(referenceFault); ok {
		runReferenceServer(fault)
	}
	os.Exit(nodetest.Main(m))
}
