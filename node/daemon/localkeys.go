package daemon

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/console"
	"github.com/gavel-ads/gavel/node/operator"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/raftstore"
)

// localTimeout bounds a request on the local socket. BOUND: a change goes through the log of the meta group.
const localTimeout = 30 * time.Second

// openLocalSocket serves the keys of the cluster on a socket in the data directory, which only this user and root can
// use. A path that is too long for a socket is no reason not to start.
func (n *node) openLocalSocket() {
	path := operator.LocalSocketPath(n.cfg.DataDir)
	_ = os.Remove(path) // A killed process leaves it; the directory is locked, so no other process serves it.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		err = os.Chmod(path, privateFile)
	}
	if err != nil {
		n.log.Warn("local_socket_not_opened", slog.String("path", path), slog.Any("err", err),
			slog.String("effect", "gavel keys create works only while the node is stopped, or with a shorter path"))
		return
	}
	server := &http.Server{
		Handler: operator.LocalHandler(localKeys{n}, n.cfg.PublicURL(n.manage.Addr().String())), ReadTimeout: localTimeout, WriteTimeout: localTimeout,
		ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug),
	}
	go func() { n.listenerEnded("local socket", server.Serve(l)) }()
	n.push("local socket", func(ctx context.Context) error { return shutdownServer(ctx, server) })
}

// localKeys implements operator.Local on a started node. Every change has an entry in the audit log, as one through the
// management API has.
type localKeys struct{ *node }

// localCaller stands in the audit log for the key of a caller of the local socket, which has none.
const localCaller = "local"

// CreateKey creates a key of a marketplace.
func (k localKeys) CreateKey(ctx context.Context, marketplace string, r operator.KeyRequest) (made operator.Key, err error) {
	if r.Name == "" || utf8.RuneCountInString(r.Name) > keyNameMax {
		return made, operator.Refused(fmt.Errorf("the name of a key has 1 to %d characters", keyNameMax))
	}
	if r.Kind != string(store.AuctionKey) && r.Kind != string(store.ManagementKey) {
		return made, operator.Refused(fmt.Errorf("%q is no kind of key: auction or management", r.Kind))
	}
	err = k.audited(ctx, marketplace, "createKey", http.MethodPost, func(ctx context.Context, t store.Tenant) (any, error) {
		created, text, err := t.CreateKey(ctx, store.KeyKind(r.Kind), r.Name, 0)
		made = keyForOperator(created)
		logged := made // Without its text.
		made.Text = text
		return logged, err
	})
	return made, err
}

// keyNameMax bounds the name of a key, as in the management API.
const keyNameMax = 64

// ListKeys lists the keys of a marketplace, newest first.
func (k localKeys) ListKeys(ctx context.Context, marketplace string) ([]operator.Key, error) {
	ordinal, err := k.ordinalOf(marketplace)
	if err != nil {
		return nil, err
	}
	all, err := k.store.Tenant(ordinal).Keys(ctx)
	keys := make([]operator.Key, len(all))
	for i := range all {
		keys[i] = keyForOperator(all[i])
	}
	return keys, err
}

// RevokeKey revokes a key of a marketplace.
func (k localKeys) RevokeKey(ctx context.Context, marketplace, id string) error {
	return k.audited(ctx, marketplace, "deleteKey", http.MethodDelete, func(ctx context.Context, t store.Tenant) (any, error) {
		return nil, t.RevokeKey(ctx, id)
	})
}

func keyForOperator(k store.Key) operator.Key {
	return operator.Key{ID: k.ID, Kind: string(k.Kind), Name: k.Name, CreatedMillis: k.CreatedMillis, ExpiresMillis: k.ExpiresMillis}
}

// audited makes a change with an audit entry. do returns what the entry shows as the result.
func (k localKeys) audited(ctx context.Context, marketplace, operation, method string, do func(context.Context, store.Tenant) (any, error)) error {
	ordinal, err := k.ordinalOf(marketplace)
	if err != nil {
		return err
	}
	entry := store.NewAuditRequest(ordinal, store.AuditEntry{
		Millis: time.Now().UnixMilli(), KeyID: localCaller, Operation: operation, Method: method, Path: operator.LocalSocket, RequestID: rand.Text(),
		Status: http.StatusOK,
	})
	result, err := do(store.WithAudit(ctx, entry), k.store.Tenant(ordinal))
	status, after := http.StatusOK, json.RawMessage(nil)
	switch {
	case err != nil:
		status = http.StatusConflict
	case result != nil:
		if after, err = json.Marshal(result); err != nil {
			return err
		}
	}
	if e, write := entry.End(status, after); write {
		k.auditLog.add(ordinal, e)
	}
	if err == nil {
		k.log.Info("access_changed_locally", slog.String("operation", operation), slog.Int("marketplace", int(ordinal)))
	}
	return localError(err)
}

// localError marks the errors that the caller can do something about.
func localError(err error) error {
	_, limit := errors.AsType[*store.Limit](err)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return operator.ErrNoSuch
	case errors.Is(err, store.ErrLastAdmin):
		return operator.Refused(errors.New("this is the last admin; make another first"))
	case console.IsInput(err):
		return operator.Refused(err)
	case errors.Is(err, store.ErrWrongState):
		return operator.Refused(errors.New("this is the last management key; make another first"))
	case limit:
		return operator.Refused(fmt.Errorf("%w; gavel keys list and gavel keys revoke make space", err))
	}
	return err
}

// ordinalOf returns the ordinal of a marketplace; that of the first one for an empty id.
func (k localKeys) ordinalOf(id string) (uint16, error) {
	all, err := k.marketplaces()
	if err != nil {
		return 0, err
	}
	for i := range all {
		if id == "" || all[i].ID.String() == id {
			return all[i].Ordinal, nil
		}
	}
	return 0, operator.ErrNoSuch
}

// WithStoppedNode starts the node of a data directory without its listeners, calls do with what can be done on its machine, and stops it. It is
// for a node without peers: it has all votes, so it can commit a change. A member of a cluster is refused, because its
// entries need the others; any running member serves the keys of the whole cluster.
func WithStoppedNode(ctx context.Context, cfg config.Config, version string, do func(operator.Local) error) error {
	groups, err := raftstore.FoundedGroups(vfs.Default, cfg.DataDir)
	if err != nil {
		return err
	}
	if len(groups) == 0 {
		return fmt.Errorf("no node was started in %s yet: its first start makes the first keys", cfg.DataDir)
	}
	if cfg.Clustered() {
		return errors.New("the node belongs to a cluster and does not run here: call the command on a machine of a running member")
	}
	cfg.Log.Level = "warn"
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	log, _ := newLogger(cfg.Log, standardError)
	n := &node{cfg: cfg, log: log, version: version, failed: make(chan error, 1)}
	n.startup = newStartupServer(n.log, nil, n.loaded.Load, "", startupCORS{})
	n.push("waiting", n.startup.shutdown)
	err = n.startAlone(ctx)
	if err == nil {
		err = do(localKeys{n})
	}
	return errors.Join(err, n.stop(n.log))
}

// startAlone starts what a change of the state needs.
func (n *node) startAlone(ctx context.Context) error {
	for _, step := range []func(context.Context) error{n.deriveLimits, n.restrictDirectories, n.openState} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if members := len(n.raft.Cluster().Nodes); members > 1 {
		return fmt.Errorf("the node is one of %d of a cluster: call the command on a machine of a running member", members)
	}
	if err := n.bootstrap(ctx); err != nil {
		return err
	}
	n.auditLog = newAuditWriters(n.store, n.log)
	n.push("audit log", func(ctx context.Context) error { n.auditLog.close(ctx); return nil })
	_, err := n.openConsole(ctx)
	return err
}
