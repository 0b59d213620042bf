//go:build linux

package environment

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// run runs a tool and returns its output. The error has what the tool wrote to standard error.
func run(name string, args ...string) (string, error) {
	var out, complaint strings.Builder
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return out.String(), nil
}

// tools are the programs that are needed, with the Debian package of each. iptables may be missing: cuts then are blackhole routes, and
// packet loss cannot be injected.
var tools = []struct {
	program, pack string
	may           bool // The run is possible without it.
}{
	{"ip", "iproute2", false},
	{"iptables", "iptables", true},
	{"mkfs.ext4", "e2fsprogs", false},
	{"mount", "mount", false},
	{"umount", "mount", false},
	{"nsenter", "util-linux", false},
}

// Check returns an error that says why this machine cannot make a run, nil when it can. With install it installs missing tools with
// apt-get first.
func Check(install bool) error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces and loop mounts need root")
	}
	for _, t := range tools {
		if _, err := exec.LookPath(t.program); err == nil {
			continue
		}
		err := fmt.Errorf("%s is not installed (Debian: %s)", t.program, t.pack)
		if install {
			_, err = run("apt-get", "install", "-y", "-q", "--no-install-recommends", t.pack)
		}
		if err != nil && !t.may {
			return err
		}
	}
	return tryMachine()
}

// tryMachine makes and removes one namespace, bridge and disk, each of which a container or a kernel may refuse.
func tryMachine() error {
	s, err := acquireSlot()
	if err != nil {
		return err
	}
	err = os.MkdirAll(s.dir, 0o700)
	if err == nil {
		_, err = newNetwork(s, 1)
	}
	if err == nil {
		_, err = newDisk(s.dir+"/trial", 64<<20)
	}
	return errors.Join(err, s.clean(), s.release())
}
