package lint

import (
	"fmt"
	"slices"
	"strings"
)

// importRule forbids imports of some packages. A change of the table below says in its commit why.
type importRule struct {
	packages string   // The packages, such as "shard" or "shard/...", which is shard and everything below.
	banned   []string // Import patterns.
	except   []string // Import patterns that are allowed nevertheless.
	deep     bool     // Indirect imports count too.
	why      string
}

var importRules = []importRule{
	{
		packages: "shard/...", deep: true, banned: []string{inModule("node/..."), inModule("raftstore/..."), inModule("bench/..."), inModule("loadtest/...")},
		why: "the engine does not know who serves it or how it is replicated",
	},
	{
		packages: "shard/...", deep: true, banned: []string{anyThird}, except: []string{"github.com/cespare/xxhash/v2", "golang.org/x/text/..."},
		why: "the engine is the standard library, one hash and the tables of Unicode",
	},
	{
		packages: "shard/...", banned: []string{"net/...", "os/...", "io/fs", "syscall", "log/...", "math/rand/...", "crypto/rand", "hash/maphash", "plugin", "expvar"},
		why: "the engine is a function: no network, no disk, no logger, no randomness",
	},
	{packages: "shard/ids", banned: []string{Module + "/..."}, why: "a leaf of the engine"},
	{packages: "shard/money", banned: []string{Module + "/..."}, why: "a leaf of the engine"},
	{
		packages: "shard/model", banned: []string{Module + "/..."}, except: []string{inModule("shard/ids"), inModule("shard/money")},
		why: "what a marketplace consists of is known without the index, the commands and the state machine",
	},
	{packages: "shard/command", deep: true, banned: []string{inModule("shard/market")}, why: "what is replicated does not depend on how auctions find it"},
	{
		packages: "shard/pacing", banned: []string{Module + "/..."}, except: []string{inModule("shard/money")},
		why: "the controller of spend knows amounts and times, not what a campaign is",
	},
	{
		packages: "shard/auction", banned: []string{inModule("shard/ledger"), inModule("shard/command"), inModule("shard/event"), inModule("shard/rollup")},
		why: "an auction reads the market and charges nothing",
	},

	{packages: "raftstore/...", deep: true, banned: []string{inModule("shard/..."), inModule("node/...")}, why: "replication carries opaque commands"},
	{packages: "raftstore/...", banned: []string{"net/http", "github.com/valyala/fasthttp/..."}, why: "replication speaks its own protocol"},
	{packages: "raftstore/durable", deep: true, banned: []string{Module + "/..."}, why: "a leaf"},
	{packages: "raftstore/proposal", deep: true, banned: []string{Module + "/..."}, why: "a leaf"},
	{
		packages: "raftstore/diskspace", deep: true, banned: []string{inModule("raftstore/...")},
		except: []string{inModule("raftstore/moment"), inModule("raftstore/durable")},
		why:    "free space is watched without groups or a store",
	},
	{
		packages: "raftstore/control", deep: true, banned: []string{inModule("raftstore/...")}, except: []string{inModule("raftstore/transport"), inModule("raftstore/moment")},
		why: "questions know neither groups nor a store",
	},
	{
		packages: "raftstore/leadership", deep: true, banned: []string{inModule("raftstore/...")}, except: []string{inModule("raftstore/transport"), inModule("raftstore/proposal"), inModule("raftstore/fatal"), inModule("raftstore/moment")},
		why: "the leadership of one group needs Raft and its transport, not the store",
	},
	{
		packages: "raftstore/forward", deep: true, banned: []string{inModule("raftstore/...")}, except: []string{inModule("raftstore/leadership"), inModule("raftstore/proposal"), inModule("raftstore/transport"), inModule("raftstore/fatal"), inModule("raftstore/moment")},
		why: "forwarding needs a leadership and the errors of a proposal, not the store",
	},
	{
		packages: "raftstore/membership", deep: true, banned: []string{inModule("raftstore/...")}, except: []string{inModule("raftstore/control"), inModule("raftstore/leadership"), inModule("raftstore/proposal"), inModule("raftstore/transport"), inModule("raftstore/fatal"), inModule("raftstore/moment"), inModule("raftstore/durable"), inModule("raftstore/pebblelog")},
		why: "members are changed through Raft and by questions, not through the store",
	},
	{
		packages: "raftstore/backup", deep: true, banned: []string{inModule("raftstore/...")}, except: []string{inModule("raftstore/snapshot"), inModule("raftstore/proposal"), inModule("raftstore/durable"), inModule("raftstore/pebblelog"), inModule("raftstore/fatal"), inModule("raftstore/moment")},
		why: "a backup is a format; taking and restoring one is the store's",
	},

	{packages: "node", banned: []string{Module + "/..."}, except: []string{inModule("node/cli")}, why: "main only calls cli"},
	{
		packages: "node/cli", banned: []string{Module + "/..."}, except: []string{inModule("node/config"), inModule("node/daemon"), inModule("node/auth"), inModule("node/operator"), inModule("node/fsck"), inModule("node/importer"), inModule("node/cells"), inModule("node/serving"), inModule("node/backups"), inModule("bench/pacing/...")},
		why: "a command calls the package that does the work",
	},
	{
		packages: "node/fsck", deep: true, banned: []string{Module + "/...", "github.com/hashicorp/raft/..."},
		why: "an offline verifier that shared code with what it verifies would share its mistakes",
	},
	{packages: "node/config", banned: []string{Module + "/..."}, why: "a leaf"},
	{packages: "node/cells", banned: []string{Module + "/..."}, why: "a leaf"},
	{packages: "node/importer", deep: true, banned: []string{Module + "/..."}, why: "a client of the public management API, as anybody could write it"},
	{packages: "node/apierr", banned: []string{Module + "/..."}, why: "a leaf"},
	{packages: "node/blob", banned: []string{Module + "/..."}, why: "a leaf"},
	{packages: "node/backups", banned: []string{Module + "/..."}, why: "a leaf: it stores bytes and does not know what a backup contains"},
	{packages: "node/login", banned: []string{Module + "/..."}, why: "a leaf"},
	{
		packages: "node/console", deep: true, banned: []string{inModule("node/hotpath"), inModule("node/manage/..."), inModule("raftstore/..."), "github.com/valyala/fasthttp/..."},
		why: "the console's service is served by the control plane and does not depend on the data plane",
	},
	{packages: "node/ingress", banned: []string{Module + "/..."}, why: "a leaf"},
	{packages: "node/tlsfiles", banned: []string{Module + "/..."}, why: "a leaf"},
	{packages: "node/acmecert", banned: []string{Module + "/..."}, why: "a leaf"},
	{
		packages: "node/wire", deep: true, banned: []string{"github.com/valyala/fasthttp/...", inModule("node/serving"), inModule("node/manage/..."), inModule("node/hotpath")},
		why: "wire turns bytes into engine values, whoever serves them",
	},
	{
		packages: "node/serving", deep: true, banned: []string{"github.com/valyala/fasthttp/...", inModule("node/hotpath"), inModule("node/manage/..."), inModule("raftstore/...")},
		why: "the core of /v2 does not know which listener called, and does not depend on the control plane",
	},
	{packages: "node/hotpath", deep: true, banned: []string{inModule("node/manage/...")}, why: "the data plane does not know the control plane"},
	{
		packages: "node/manage/...", deep: true, banned: []string{inModule("node/hotpath"), inModule("raftstore/..."), "github.com/valyala/fasthttp/..."},
		why: "the control plane does not depend on the data plane, and resources use a store",
	},
	{
		packages: "node/cluster", banned: []string{inModule("shard"), inModule("node/serving"), inModule("node/manage/..."), inModule("node/hotpath")},
		why: "the adapter of raft does not interpret commands",
	},
	{
		packages: "node/pacer", banned: []string{inModule("node/...")},
		why: "it steers campaigns through interfaces, which the daemon connects to the node",
	},

	{
		packages: "node/export", banned: []string{inModule("node/...")}, except: []string{inModule("node/store"), inModule("node/blob")},
		why: "it reads the store and writes files; it serves nobody",
	},

	{
		packages: "node/sinks", banned: []string{inModule("node/...")}, except: []string{inModule("node/store"), inModule("node/export")},
		why: "it reads the store and sends messages with the columns of exports; it serves nobody",
	},

	{
		packages: "node/tally", banned: []string{inModule("node/...")},
		why: "it reports counts through an interface, which the daemon connects to the node",
	},

	{packages: "bench/traffic", banned: []string{Module + "/..."}, why: "traffic uses the public interface only"},
	{
		packages: "loadtest/...", deep: true, banned: []string{inModule("node/..."), inModule("shard/..."), inModule("raftstore/...")},
		why: "the load generator is a client: it uses HTTP only",
	},
}

// CheckImports checks every package of the module against the rules.
func CheckImports(packages []*Package) []Finding {
	var found []Finding
	for _, p := range packages {
		for _, w := range importRules {
			if matches(w.packages, p.path()) {
				found = append(found, w.breaches(p)...)
			}
		}
		found = append(found, onlyCallers(p)...)
		found = append(found, resourceImports(p)...)
		found = append(found, testPackages(p)...)
	}
	return found
}

func (w *importRule) breaches(p *Package) []Finding {
	imports := p.Imports
	if w.deep {
		imports = p.Deps
	}
	var found []Finding
	for _, i := range imports {
		banned := slices.ContainsFunc(w.banned, func(pattern string) bool { return matches(pattern, i) })
		allowed := slices.ContainsFunc(w.except, func(pattern string) bool { return matches(pattern, i) })
		if banned && !allowed {
			found = append(found, Finding{p.path(), "import", fmt.Sprintf("imports %s: %s", i, w.why)})
		}
	}
	return found
}

// onlyCallers reports imports of packages that only some packages may import. It covers the root package of the engine,
// too.
func onlyCallers(p *Package) []Finding {
	var found []Finding
	for _, rule := range []struct {
		imported string
		callers  []string
		why      string
	}{
		{"node/daemon", []string{"node/cli", "node/nodetest"}, "the daemon assembles everything and no package depends on it"},
		{"node/cli", []string{"node"}, "the command line is the outermost package"},
		{"shard", []string{"node/...", "bench/...", "shard/shardtest"}, "parts of the engine do not depend on the whole"},
		{"raftstore", []string{"node/daemon", "node/cluster", "bench/...", "raftstore/raftstoretest"}, "parts of the store do not depend on the whole"},
		{"shard/shardtest", []string{"node/manage/managetest", "bench/cells"}, "only tests and the simulation of cells need the model"},
		{"node/manage/managetest", []string{"node/sinks/sinkstest"}, "only tests need a test server"},
	} {
		if !slices.Contains(p.Imports, inModule(rule.imported)) {
			continue
		}
		if !slices.ContainsFunc(rule.callers, func(c string) bool { return matches(c, p.path()) }) {
			found = append(found, Finding{p.path(), "import", "imports " + rule.imported + ": " + rule.why})
		}
	}
	return found
}

// resourceImports keeps management resources apart: what two of them need belongs into node/manage/resource.
func resourceImports(p *Package) []Finding {
	const manage = Module + "/node/manage/"
	if !strings.HasPrefix(p.ImportPath, manage) {
		return nil
	}
	var found []Finding
	for _, i := range p.Imports {
		if strings.HasPrefix(i, manage) && i != manage+"resource" {
			found = append(found, Finding{p.path(), "import", "imports " + i + ": resources share through node/manage/resource only"})
		}
	}
	return found
}

// testPackages keeps packages of test helpers (shardtest, nodetest, servingtest …) out of production code: only tests,
// other such packages and benchmarks import them.
func testPackages(p *Package) []Finding {
	if isTestPackage(p.ImportPath) || matches("bench/...", p.path()) {
		return nil
	}
	var found []Finding
	for _, i := range p.Imports {
		if isTestPackage(i) {
			found = append(found, Finding{p.path(), "import", "imports the test package " + i + " outside of a test"})
		}
	}
	return found
}

func isTestPackage(importPath string) bool {
	return below(Module, importPath) && strings.HasSuffix(importPath, "test") && !strings.HasSuffix(importPath, "/loadtest")
}
