// SPDX-License-Identifier: Apache-2.0

// Package client stands in for that of go.temporal.io/auto-scaled-workers, see
// internal/third_party/README.md: no worker is started on the computers of a cloud.
package client

import (
	"context"

	deploymentpb "go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/auto-scaled-workers/wci/workflow/iface"
	"go.temporal.io/server/common/namespace"
	"go.uber.org/fx"
)

// Module provides a Client, and no hook for tasks.
var Module = fx.Provide(func() Client { return none{} })

// Client asks for what starts the workers of a deployment.
type Client interface {
	DescribeWorkerControllerInstance(
		ctx context.Context, namespaceEntry *namespace.Namespace, version *deploymentpb.WorkerDeploymentVersion,
	) (*iface.QueryDescribeWorkerControllerInstanceResponse, []byte, error)
	UpdateWorkerControllerInstance(
		ctx context.Context, namespaceEntry *namespace.Namespace, version *deploymentpb.WorkerDeploymentVersion, conflictToken []byte,
		identity string, upsertScalingGroups map[string]iface.ScalingGroupSpecUpdate, removeScalingGroups []string,
	) (*iface.UpdateWorkerControllerInstanceResponse, error)
	DeleteWorkerControllerInstance(
		ctx context.Context, namespaceEntry *namespace.Namespace, version *deploymentpb.WorkerDeploymentVersion, identity string,
	) error
	ValidateWorkerControllerInstanceSpec(
		ctx context.Context, namespaceEntry *namespace.Namespace, version *deploymentpb.WorkerDeploymentVersion,
		identity string, upsertScalingGroups map[string]iface.ScalingGroupSpecUpdate, removeScalingGroups []string,
	) error
}

// none is a client for a server where nothing of the kind exists.
type none struct{}

// DescribeWorkerControllerInstance returns NotFound, as it is for each deployment that was
// never given a compute provider.
func (none) DescribeWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion,
) (*iface.QueryDescribeWorkerControllerInstanceResponse, []byte, error) {
	return nil, nil, serviceerror.NewNotFound("compute providers are not part of this program")
}

// UpdateWorkerControllerInstance refuses every compute provider.
func (none) UpdateWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, []byte,
	string, map[string]iface.ScalingGroupSpecUpdate, []string,
) (*iface.UpdateWorkerControllerInstanceResponse, error) {
	return nil, serviceerror.NewInvalidArgument("compute providers are not part of this program")
}

// DeleteWorkerControllerInstance does nothing, as it does where none exists.
func (none) DeleteWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion, string,
) error {
	return nil
}

// ValidateWorkerControllerInstanceSpec refuses every compute provider.
func (none) ValidateWorkerControllerInstanceSpec(
	context.Context, *namespace.Namespace, *deploymentpb.WorkerDeploymentVersion,
	string, map[string]iface.ScalingGroupSpecUpdate, []string,
) error {
	return serviceerror.NewInvalidArgument("compute providers are not part of this program")
}
