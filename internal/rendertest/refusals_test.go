package rendertest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/config"
)

// Values that contradict each other, are misspelt, or would leave something in plain text that nobody said are refused with
// what to do.
func TestRefusals(t *testing.T) {
	const plain = "tls: {plainHTTP: true}\n"
	for _, c := range []struct{ values, says string }{
		{"", "set tls.secret"},
		{"tls: {plainHTTP: true, secret: x}", "set one of the two"},
		{plain + "replicas: 3", "3 replicas need peers.tls.secret"},
		{plain + "replicas: 2", "replicas"},
		{plain + "replikas: 3", "replikas"},
		{plain + "admin: {email: ops@example.com}", "admin.email and admin.secret"},
		{plain + "admin: {secret: x}", "admin.email and admin.secret"},
		{plain + "ingress: {auctions: {enabled: true}}", "ingress.auctions.host is missing"},
		{plain + "backup: {enabled: true, dir: s3://b/p}", "backup.dir and backup.keySecret"},
		{plain + "backup: {enabled: true, dir: /backups, keySecret: x}", "backup.claim is needed"},
		{plain + "backup: {enabled: true, dir: s3://b/p, claim: x, keySecret: x}", "backup.claim is needed"},
		{"tls: {secret: x}\nbackup: {enabled: true, dir: s3://b/p, keySecret: x}", "backup.url is missing"},
		{plain + "drainSeconds: 61", "drainSeconds"},
		{plain + "publicURL: https://ads.example.com/", "publicURL"},
		{plain + "persistence: {size: 20}", "size"},
		{plain + "bootstrapKeys: {auction: gavel_auc_x}", "auction"},
		{plain + "service: {auctions: {type: ExternalName}}", "type"},
	} {
		if _, err := render(parseValues(t, c.values)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want %q", c.values, err, c.says)
		}
	}
}

// inConfig renders the chart with one setting in the value config.
func inConfig(t *testing.T, key string) error {
	t.Helper()
	var settings any = "x"
	path := strings.Split(key, ".")
	for _, name := range slices.Backward(path) {
		settings = map[string]any{name: settings}
	}
	_, err := render(map[string]any{"tls": map[string]any{"plainHTTP": true}, "config": settings})
	return err
}

// A setting that is secret is refused in the value config, which becomes a ConfigMap, and so is one that the chart sets: the
// variable would win silently. The lists of the chart name settings that exist.
func TestSettingsBelongElsewhere(t *testing.T) {
	settings := map[string]config.Setting{}
	for _, s := range config.Settings() {
		settings[s.Key] = s
		if err := inConfig(t, s.Key); s.Secret && (err == nil || !strings.Contains(err.Error(), "config."+s.Key+" is not set there")) {
			t.Errorf("the secret setting %s: %v", s.Key, err)
		}
	}
	if err := inConfig(t, "staleness"); err != nil {
		t.Error(err)
	}
	byEnv := map[string]string{}
	for key, s := range settings {
		byEnv[s.Env] = key
	}
	for set := range valueSets(t) {
		for _, name := range startOf(t, objectsOf(t, set), 0).variables {
			if key := byEnv[name]; key != "config" && key != "log.access" { // The first names the file, the second is from extraEnv.
				if err := inConfig(t, key); err == nil || !strings.Contains(err.Error(), "config."+key+" is not set there") {
					t.Errorf("%s: %s, which the chart sets: %v", set, key, err)
				}
			}
		}
	}
	listed := regexp.MustCompile(`(?m)^([a-z_.]+): \S`).FindAllStringSubmatch(read(t, chartDir+"/templates/_helpers.tpl"), -1)
	if len(listed) < 25 {
		t.Errorf("only %d settings are listed", len(listed))
	}
	for _, l := range listed {
		if _, known := settings[l[1]]; !known {
			t.Errorf("the chart refuses %s, which is no setting", l[1])
		}
	}
}
