// Package rendertest checks what is shipped for Kubernetes and for Docker Compose with the programs that read it: the Helm
// chart is rendered by Helm's own engine, its objects are decoded into the types of Kubernetes, and the Compose files are
// loaded by the library of Docker Compose. What a pod would start with is loaded by node/config, so a setting that is renamed
// fails a test here.
//
//	make render
//
// It is a separate module, because Helm and Kubernetes are larger than the product.
package rendertest
