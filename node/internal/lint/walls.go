package lint

import (
	"fmt"
	"slices"
	"strings"
)

// wall keeps a room from importing something. The table below is the house plan; a wall comes down in a commit that
// changes this table and says why.
type wall struct {
	room   string   // "shard/..." is the room and all below.
	banned []string // Import patterns.
	except []string // Import patterns that are allowed all the same.
	deep   bool     // Indirect imports count too.
	why    string
}

var walls = []wall{
	{
		room: "shard/...", deep: true, banned: []string{ours("node/..."), ours("raftstore/..."), ours("bench/..."), ours("loadtest/...")},
		why: "the engine does not know who serves it or how it is replicated",
	},
	{
		room: "shard/...", deep: true, banned: []string{anyThird}, except: []string{"github.com/cespare/xxhash/v2", "golang.org/x/text/..."},
		why: "the engine is the standard library, one hash and the tables of Unicode",
	},
	{
		room: "shard/...", banned: []string{"net/...", "os/...", "io/fs", "syscall", "log/...", "math/rand/...", "crypto/rand", "hash/maphash", "plugin", "expvar"},
		why: "the engine is a function: no network, no disk, no logger, no dice",
	},
	{room: "shard/ids", banned: []string{Module + "/..."}, why: "a leaf of the engine"},
	{room: "shard/money", banned: []string{Module + "/..."}, why: "a leaf of the engine"},
	{
		room: "shard/auction", banned: []string{ours("shard/ledger"), ours("shard/command"), ours("shard/event"), ours("shard/rollup")},
		why: "an auction reads the market and charges nobody",
	},

	{room: "raftstore/...", deep: true, banned: []string{ours("shard/..."), ours("node/...")}, why: "replication carries opaque commands"},
	{room: "raftstore/...", banned: []string{"net/http", "github.com/valyala/fasthttp/..."}, why: "replication speaks its own protocol"},

	{room: "node", banned: []string{Module + "/..."}, except: []string{ours("node/cli")}, why: "main hands over to cli"},
	{
		room: "node/cli", banned: []string{Module + "/..."}, except: []string{ours("node/config"), ours("node/daemon"), ours("node/auth"), ours("node/operator"), ours("node/audit"), ours("node/serving")},
		why: "a command starts things, it does not do them",
	},
	{
		room: "node/audit", deep: true, banned: []string{Module + "/...", "github.com/hashicorp/raft/..."},
		why: "an auditor that shared code with what it audits would share its mistakes",
	},
	{room: "node/config", banned: []string{Module + "/..."}, why: "a leaf"},
	{room: "node/apierr", banned: []string{Module + "/..."}, why: "a leaf"},
	{room: "node/blob", banned: []string{Module + "/..."}, why: "a leaf"},
	{room: "node/httphead", banned: []string{Module + "/..."}, why: "a leaf"},
	{
		room: "node/wire", deep: true, banned: []string{"github.com/valyala/fasthttp/...", ours("node/serving"), ours("node/manage/..."), ours("node/hotpath")},
		why: "wire turns bytes into engine values, whoever serves them",
	},
	{
		room: "node/serving", deep: true, banned: []string{"github.com/valyala/fasthttp/...", ours("node/hotpath"), ours("node/manage/..."), ours("raftstore/...")},
		why: "the core of /v2 does not know which door called, and does not wait for the control plane",
	},
	{room: "node/hotpath", deep: true, banned: []string{ours("node/manage/...")}, why: "the data plane does not know the control plane"},
	{
		room: "node/manage/...", deep: true, banned: []string{ours("node/hotpath"), ours("raftstore/..."), "github.com/valyala/fasthttp/..."},
		why: "the control plane does not reach into the data plane, and resources speak to a store",
	},
	{
		room: "node/cluster", banned: []string{ours("shard"), ours("node/serving"), ours("node/manage/..."), ours("node/hotpath")},
		why: "the bridge to raft states no opinion on commands",
	},

	{room: "bench/traffic", banned: []string{Module + "/..."}, why: "traffic is made from the outside"},
	{
		room: "loadtest/...", deep: true, banned: []string{ours("node/..."), ours("shard/..."), ours("raftstore/...")},
		why: "the load generator is a stranger that speaks HTTP",
	},
}

// Walls holds every package of the module against the table.
func Walls(packages []*Package) []Finding {
	var found []Finding
	for _, p := range packages {
		for _, w := range walls {
			if matches(w.room, p.room()) {
				found = append(found, w.breaches(p)...)
			}
		}
		found = append(found, onlyCallers(p)...)
		found = append(found, neighbours(p)...)
		found = append(found, kits(p)...)
	}
	return found
}

func (w *wall) breaches(p *Package) []Finding {
	imports := p.Imports
	if w.deep {
		imports = p.Deps
	}
	var found []Finding
	for _, i := range imports {
		banned := slices.ContainsFunc(w.banned, func(pattern string) bool { return matches(pattern, i) })
		allowed := slices.ContainsFunc(w.except, func(pattern string) bool { return matches(pattern, i) })
		if banned && !allowed {
			found = append(found, Finding{p.room(), "wall", fmt.Sprintf("imports %s: %s", i, w.why)})
		}
	}
	return found
}

// onlyCallers guards rooms by who may import them. They also guard the engine's root from the inside.
func onlyCallers(p *Package) []Finding {
	var found []Finding
	for _, guard := range []struct {
		room    string
		callers []string
		why     string
	}{
		{"node/daemon", []string{"node/cli", "node/nodetest"}, "the daemon wires everything and nothing wires it"},
		{"node/cli", []string{"node"}, "the command line is the outermost room"},
		{"shard", []string{"node/...", "bench/...", "shard/shardtest"}, "parts of the engine do not know the whole"},
		{"shard/shardtest", []string{"node/manage/managetest"}, "only tests need a judge"},
		{"node/manage/managetest", nil, "only tests need a made-up world"},
	} {
		if !slices.Contains(p.Imports, ours(guard.room)) {
			continue
		}
		if !slices.ContainsFunc(guard.callers, func(c string) bool { return matches(c, p.room()) }) {
			found = append(found, Finding{p.room(), "wall", "imports " + guard.room + ": " + guard.why})
		}
	}
	return found
}

// neighbours keeps management resources apart: what two of them need belongs into the kit.
func neighbours(p *Package) []Finding {
	const manage = Module + "/node/manage/"
	if !strings.HasPrefix(p.ImportPath, manage) {
		return nil
	}
	var found []Finding
	for _, i := range p.Imports {
		if strings.HasPrefix(i, manage) && i != manage+"resource" {
			found = append(found, Finding{p.room(), "wall", "imports " + i + ": resources share through node/manage/resource only"})
		}
	}
	return found
}

// kits keeps test kits (shardtest, nodetest, servingtest …) out of the product: only tests, other kits and benchmarks
// import them.
func kits(p *Package) []Finding {
	if isKit(p.ImportPath) || matches("bench/...", p.room()) {
		return nil
	}
	var found []Finding
	for _, i := range p.Imports {
		if isKit(i) {
			found = append(found, Finding{p.room(), "wall", "imports the test kit " + i + " outside of a test"})
		}
	}
	return found
}

func isKit(importPath string) bool {
	return below(Module, importPath) && strings.HasSuffix(importPath, "test") && !strings.HasSuffix(importPath, "/loadtest")
}
