// The controller of network policies of kube-router by itself, without its routing and its proxy.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	config := options.NewKubeRouterConfig()
	kubeconfig := flag.String("kubeconfig", "", "file of the administrator")
	node := flag.String("node", "", "name of this node")
	services := flag.String("services", "", "addresses of services, as CIDR")
	flag.Parse()
	config.Kubeconfig = *kubeconfig
	config.HostnameOverride = *node
	config.ClusterIPCIDRs = []string{*services}
	config.NodePortRange = "30000-32767"
	config.EnableIPv4 = true
	config.IPTablesSyncPeriod = time.Minute
	if err := run(config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(config *options.KubeRouterConfig) error {
	rest, err := clientcmd.BuildConfigFromFlags("", config.Kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if err := awaitNode(client, config.HostnameOverride); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	filters, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return fmt.Errorf("packet filter: %w", err)
	}
	var setsLock sync.Mutex
	controller, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, &setsLock, filters, sets)
	if err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	pods.AddEventHandler(controller.PodEventHandler)
	namespaces.AddEventHandler(controller.NamespaceEventHandler)
	policies.AddEventHandler(controller.NetworkPolicyEventHandler)
	beats := make(chan *healthcheck.ControllerHeartbeat, 10)
	go func() {
		for range beats {
		}
	}()
	var running sync.WaitGroup
	running.Add(1)
	go controller.Run(beats, stop, &running)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	<-signals
	close(stop)
	running.Wait()
	return nil
}

// A node registers itself some time after its programs have started.
func awaitNode(client kubernetes.Interface, name string) error {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		cancel()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}
