//go:build linux

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
	"strings"
	"syscall"
	"time"
)

// prometheus is a real Prometheus that scrapes the nodes every second and evaluates the rules as they ship and their quick copy.
type prometheus struct {
	cmd    *exec.Cmd
	exited chan struct{}
	url    string
	log    string
}

// configuration is what Prometheus is given. Its job is called as in configs/prometheus/prometheus.yml, which the rules name.
const configuration = `global:
  scrape_interval: 1s
  scrape_timeout: 1s
  evaluation_interval: 1s
rule_files: [rules.yml, quick.yml]
scrape_configs:
  - job_name: gavel
    static_configs:
      - targets: [%s]
`

// startPrometheus starts the program with the rules of a file. targets are the management listeners of the nodes.
func startPrometheus(ctx context.Context, dir, rules string, factor int, targets []string) (*prometheus, error) {
	text, err := os.ReadFile(rules)
	if err != nil {
		return nil, err
	}
	quick, err := quicken(string(text), factor)
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		"rules.yml": string(text), "quick.yml": quick, "prometheus.yml": fmt.Sprintf(configuration, `"`+strings.Join(targets, `", "`)+`"`),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	p := &prometheus{exited: make(chan struct{}), url: "http://" + address, log: filepath.Join(dir, "prometheus.log")}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // The process has its own descriptor.
	p.cmd = exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "series"), "--web.listen-address="+address)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	starting, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	go func() {
		_ = p.cmd.Wait() // Whoever asks it next gets an error.
		close(p.exited)
	}()
	for {
		if _, err := p.firing(starting); err == nil {
			return p, nil
		}
		select {
		case <-p.exited:
			return nil, fmt.Errorf("prometheus ended; its log is %s", p.log)
		case <-starting.Done():
			p.stop()
			return nil, fmt.Errorf("prometheus does not start: %w; its log is %s", starting.Err(), p.log)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (p *prometheus) stop() {
	_ = p.cmd.Process.Kill() // It may have ended.
	<-p.exited
}

// alert is an alert that fires.
type alert struct{ name, instance, summary string }

func (a alert) String() string {
	if a.instance == "" {
		return a.name
	}
	return a.name + " of " + a.instance
}

// firing are the alerts that fire now, by whether their rule is the quick copy.
type firing struct {
	shipped, quick []alert
	pending        []alert // Quick ones whose condition holds, but not yet for long enough.
}

// answerMax bounds an answer of Prometheus, in bytes.
const answerMax = 16 << 20

// firing asks for the alerts that fire now.
func (p *prometheus) firing(ctx context.Context) (firing, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/v1/alerts", nil)
	if err != nil {
		return firing{}, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return firing{}, err
	}
	defer func() { _ = resp.Body.Close() }() // It was read.
	var answer struct {
		Data struct {
			Alerts []struct {
				State               string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, answerMax)).Decode(&answer); err != nil {
		return firing{}, err
	}
	var all firing
	for _, a := range answer.Data.Alerts {
		found := alert{a.Labels["alertname"], a.Labels["instance"], a.Annotations["summary"]}
		switch quick := a.Labels["speed"] == "quick"; {
		case a.State == "firing" && quick:
			all.quick = append(all.quick, found)
		case a.State == "firing":
			all.shipped = append(all.shipped, found)
		case quick:
			all.pending = append(all.pending, found)
		}
	}
	return all, nil
}
