// Package operator is the interface for whoever runs the cluster: its state, its members, its leaders.
package operator

// About is what a node tells of itself.
type About struct {
	Version string `json:"version"`
}
