package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestVersionFlag(t *testing.T) {
	want := gavel(nil, "version").out
	for _, args := range [][]string{{"--version"}, {"serve", "--version"}, {"keys", "--version"}} {
		r := gavel(nil, args...)
		if r.code != exitSuccess || r.started || r.out != want || r.err != "" {
			t.Errorf("%q: code %d, started %t, want %q, got\n%s%s", args, r.code, r.started, want, r.out, r.err)
		}
	}
}

func TestHelpCommand(t *testing.T) {
	for command, want := range map[string]string{
		"": "gavel --help", "serve": "--auction-listen", "keys": "generate", "keys generate": "--kind", "help": "[<command> ...]",
	} {
		words := strings.Fields(command)
		got, flag := gavel(nil, append([]string{"help"}, words...)...), gavel(nil, append(words, "--help")...)
		if got.code != exitSuccess || got.started || got.out != flag.out {
			t.Errorf("help %s: code %d, started %t, got\n%s%s\nwant\n%s", command, got.code, got.started, got.out, got.err, flag.out)
		}
		if command != "" && !strings.Contains(got.out, want) {
			t.Errorf("help %s: without %q\n%s", command, want, got.out)
		}
	}
	for _, args := range [][]string{{"help", "serv"}, {"help", "keys", "generat"}} {
		if r := gavel(nil, args...); r.code != exitUsage || r.started || strings.Count(r.err, "\n") != 2 || !strings.Contains(r.err, "did you mean") {
			t.Errorf("%q: code %d, started %t\n%s%s", args, r.code, r.started, r.out, r.err)
		}
	}
}

func TestProposals(t *testing.T) {
	for line, want := range map[string]string{
		"ser":                                "serve",
		"co":                                 "completion config",
		"comple":                             "completion", // complete is for scripts.
		"keys ":                              "create generate list revoke",
		"keys generate --kind ":              "auction management",
		"keys generate --kind auction --kin": "--kind",
		"completion ":                        "bash fish zsh",
		"config ":                            "check print",
		"config print --sou":                 "--sources",
		"serve --auction-l":                  "--auction-listen",
		"--auction-l":                        "--auction-listen",
		"serve --node-id serve --auction-l":  "--auction-listen",
		"--node-id config ser":               "serve", // The word after --node-id is its value.
		"serve --config ":                    "",      // The shell proposes files.
		"nonsense --auction-lis":             "--auction-listen",
		"check x":                            "",
	} {
		r := gavel(nil, append([]string{"complete", "--"}, strings.Split(line, " ")...)...)
		if got := strings.Join(strings.Fields(r.out), " "); r.code != exitSuccess || r.started || got != want {
			t.Errorf("%q: code %d, proposals %q, want %q\n%s", line, r.code, got, want, r.err)
		}
	}
	if all := gavel(nil, "complete"); !slices.Contains(strings.Fields(all.out), "serve") {
		t.Errorf("no words: %q %s", all.out, all.err)
	}
}

// TestCompletionScripts runs the scripts of bash and zsh, where the shell is installed, with a gavel that prints its
// arguments. Of fish's script only the text is checked.
func TestCompletionScripts(t *testing.T) {
	directory := t.TempDir()
	fake := "#!/bin/sh\nfor a in \"$@\"; do printf '[%s]\\n' \"$a\"; done\n"
	if err := os.WriteFile(filepath.Join(directory, "gavel"), []byte(fake), 0o700); err != nil {
		t.Fatal(err)
	}
	for shell, ask := range map[string]string{
		"bash": `COMP_WORDS=(gavel serve --au); COMP_CWORD=2; _gavel; printf '%s\n' "${COMPREPLY[@]}"`,
		"zsh":  `words=(gavel serve --au); CURRENT=3; compadd() { print -l $found }; _gavel`,
		"fish": "",
	} {
		script := gavel(nil, "completion", shell)
		if script.code != exitSuccess || !strings.Contains(script.out, "gavel complete -- ") {
			t.Errorf("%s: code %d\n%s%s", shell, script.code, script.out, script.err)
		}
		path, err := exec.LookPath(shell)
		if err != nil || ask == "" {
			continue
		}
		if shell == "zsh" {
			script.out = "compdef() { : }\n" + script.out
		}
		command := exec.Command(path, "-c", script.out+ask)
		command.Env = []string{"PATH=" + directory + ":" + os.Getenv("PATH")}
		out, err := command.CombinedOutput()
		if want := "[complete]\n[--]\n[serve]\n[--au]\n"; err != nil || string(out) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", shell, err, out, want)
		}
	}
	if r := gavel(nil, "completion", "tcsh"); r.code != exitUsage || !strings.Contains(r.err, `"bash","zsh","fish"`) {
		t.Errorf("tcsh: code %d\n%s", r.code, r.err)
	}
}
