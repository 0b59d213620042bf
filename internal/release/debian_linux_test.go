package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// machine is a Debian system made of this one: its root is an overlay in a mount namespace, so what is installed there
// changes nothing outside of upper.
type machine struct {
	*testing.T
	dir, upper      string
	auction, manage string // Addresses of its node, on the loopback of this machine, chosen at each start.
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a release, which takes minutes")
	}
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: installing the .deb needs root, for a mount namespace")
	}
	for _, command := range []string{"dpkg", "unshare", "setpriv", "git"} {
		if _, err := exec.LookPath(command); err != nil {
			t.Skip("SKIPPED: installing the .deb needs the command " + command)
		}
	}
	m := &machine{T: t, dir: t.TempDir()}
	m.upper = filepath.Join(m.dir, "upper")
	for _, name := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(m.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := m.command(t.Context(), "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: installing the .deb needs overlay mounts in a namespace: %v: %s", err, text)
	}
	return m
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// command runs a shell script inside of the machine.
func (m *machine) command(ctx context.Context, script string) *exec.Cmd {
	root := filepath.Join(m.dir, "root")
	mounts := fmt.Sprintf("mount -t overlay overlay -o lowerdir=/,upperdir=%s,workdir=%s %s && mount --bind /proc %[3]s/proc && mount --bind /dev %[3]s/dev && exec chroot %[3]s sh -ec \"$0\"",
		m.upper, filepath.Join(m.dir, "work"), root)
	return exec.CommandContext(ctx, "unshare", "--mount", "sh", "-c", mounts, script)
}

// sh runs a script inside of the machine and returns what it prints.
func (m *machine) sh(script string) string {
	m.Helper()
	text, err := m.command(m.Context(), script).CombinedOutput()
	if err != nil {
		m.Fatalf("%s: %v\n%s", script, err, text)
	}
	return string(text)
}

// setting returns the value of a setting of the installed unit.
func (m *machine) setting(name string) string {
	m.Helper()
	text, err := os.ReadFile(filepath.Join(m.upper, "usr/lib/systemd/system/gavel.service"))
	if err != nil {
		m.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return value
		}
	}
	m.Fatalf("the unit does not set %s", name)
	return ""
}

// serve runs the node as systemd does: the ExecStart of the unit, its variables and state directory, as an unprivileged
// user without capabilities, with a socket for notifications. It calls while with the node ready, and stops the node.
func (m *machine) serve(while func()) {
	m.Helper()
	m.auction, m.manage = freeAddress(m.T), freeAddress(m.T) // Now: building the packages took minutes, in which others may take a port.
	variables := strings.TrimPrefix(m.setting("EnvironmentFile"), "-")
	m.sh("install -d -m 700 -o nobody /var/lib/" + m.setting("StateDirectory") + fmt.Sprintf("; printf 'GAVEL_AUCTION_LISTEN=%s\\nGAVEL_MANAGE_LISTEN=%s\\n' > %s", m.auction, m.manage, variables))
	manager, err := (&net.ListenConfig{}).ListenPacket(m.Context(), "unixgram", "@gavel-release-"+m.auction)
	if err != nil {
		m.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	node := m.command(m.Context(), "set -a; . "+variables+"; umask "+m.setting("UMask")+
		"; exec setpriv --reuid nobody --clear-groups --no-new-privs --bounding-set=-all "+m.setting("ExecStart"))
	node.Env = append(os.Environ(), "NOTIFY_SOCKET=@gavel-release-"+m.auction)
	var log strings.Builder
	node.Stdout, node.Stderr = &log, &log
	if err := node.Start(); err != nil {
		m.Fatal(err)
	}
	buffer := make([]byte, 4096)
	_ = manager.SetReadDeadline(time.Now().Add(time.Minute)) // A failure shows at the read.
	n, _, err := manager.ReadFrom(buffer)
	if err != nil || !strings.HasPrefix(string(buffer[:n]), "READY=1") {
		m.Errorf("the unit is of Type=notify and the node sends %q, %v", buffer[:n], err)
	}
	for deadline := time.Now().Add(time.Minute); m.command(m.Context(), "set -a; . "+variables+"; gavel health").Run() != nil; {
		if time.Now().After(deadline) {
			_ = node.Process.Kill()
			_ = node.Wait()
			m.Fatalf("the node does not become ready:\n%s", log.String())
		}
	}
	while()
	_ = node.Process.Signal(os.Interrupt) // unshare and chroot have replaced themselves by the node.
	if err := node.Wait(); err != nil {
		m.Errorf("the node stopped with %v:\n%s", err, log.String())
	}
}

// auctionAnswers sends an auction with the key of the first start.
func (m *machine) auctionAnswers() {
	m.Helper()
	text, err := os.ReadFile(filepath.Join(m.upper, "var/lib/gavel/keys.json"))
	if err != nil {
		m.Fatal(err)
	}
	var keys map[string]string
	if err := json.Unmarshal(text, &keys); err != nil {
		m.Fatal(err)
	}
	var key string
	for _, value := range keys {
		if strings.HasPrefix(value, "gavel_auc_") {
			key = value
		}
	}
	r, err := http.NewRequestWithContext(m.Context(), http.MethodPost, "http://"+m.auction+"/v2/auctions",
		strings.NewReader(`{"auctions":[{"type":"listings","slots":1,"products":{"ids":["a"]}}]}`))
	if err != nil {
		m.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		m.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated {
		m.Errorf("the first auction: %d %s", answer.StatusCode, body)
	}
}

// The .deb is installed, serves with the unit's exact command, is upgraded with its data and an edited configuration, is
// removed without its data, and two builds of it are equal.
func TestTheDebianPackage(t *testing.T) {
	m := newMachine(t)
	t.Chdir(filepath.Join("..", ".."))
	built := func(name, version string) (file string, text []byte) {
		dir := filepath.Join(m.dir, name)
		r, err := describe(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(r.work) }()
		r.version, r.name = version, version
		pages, err := r.documents()
		if err == nil {
			err = r.build(target{"linux", runtime.GOARCH}, pages, true)
		}
		if err != nil {
			if strings.Contains(err.Error(), "nfpm") {
				t.Skip("SKIPPED: nfpm cannot be built (is the module proxy reachable?): ", err)
			}
			t.Fatal(err)
		}
		file = filepath.Join(dir, fmt.Sprintf("gavel_%s_linux_%s.deb", version, runtime.GOARCH))
		if text, err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
		return file, text
	}
	old, oldText := built("old", "1.0.0")
	if _, again := built("again", "1.0.0"); string(oldText) != string(again) {
		t.Error("two builds of one version differ")
	}
	newer, _ := built("new", "1.0.1")

	m.sh("dpkg --install " + old)
	if _, err := exec.LookPath("systemd-analyze"); err == nil {
		if text := m.sh("systemd-analyze verify gavel.service 2>&1 | grep gavel.service || true"); text != "" {
			t.Errorf("systemd finds in the unit: %s", text)
		}
	}
	m.sh("grep -q gavel /usr/share/bash-completion/completions/gavel; gzip -t /usr/share/man/man1/gavel-serve.1.gz; gavel config check /etc/gavel/gavel.yaml")
	m.serve(m.auctionAnswers)

	m.sh("echo '# edited' >> /etc/gavel/gavel.yaml; dpkg --install " + newer)
	if text := m.sh("gavel version; cat /etc/gavel/gavel.yaml"); !strings.Contains(text, "gavel 1.0.1") || !strings.Contains(text, "# edited") {
		t.Errorf("after the upgrade: %s", text)
	}
	m.serve(m.auctionAnswers)

	m.sh("dpkg --remove gavel; test ! -e /usr/bin/gavel; test -e /etc/gavel/gavel.yaml")
	m.sh("dpkg --purge gavel; test ! -e /etc/gavel/gavel.yaml; test -d /var/lib/gavel/state")
}
