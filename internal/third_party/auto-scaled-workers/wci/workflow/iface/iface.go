// SPDX-License-Identifier: MIT

// Package iface has the types of go.temporal.io/auto-scaled-workers that the Temporal server
// uses, unchanged; see internal/third_party/README.md.
package iface

import (
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
)

// The results of a validation.
const (
	ValidationResultSuccess ValidationResult = "success"
	ValidationResultFailed  ValidationResult = "failed"
)

type (
	ComputeProviderType string

	// ComputeProviderSpec is a single provider type and its settings (used per task queue type or as default).
	ComputeProviderSpec struct {
		ProviderType  ComputeProviderType `json:"provider_type,omitempty"`
		Config        *commonpb.Payload   `json:"config,omitempty"`
		NexusEndpoint string              `json:"nexus_endpoint,omitempty"`
	}

	ScalingAlgorithmType string

	// ScalingAlgorithmSpec is a single scaling algorithm and its settings (used per task queue type or as default).
	ScalingAlgorithmSpec struct {
		ScalingAlgorithm ScalingAlgorithmType `json:"scaling_algorithm,omitempty"`
		Config           *commonpb.Payload    `json:"config,omitempty"`
	}

	// ScalingGroupSpec is one entry: a list of task types and the compute/scaling spec that applies to them.
	ScalingGroupSpec struct {
		TaskTypes []enumspb.TaskQueueType `json:"task_types"`
		Compute   ComputeProviderSpec     `json:"compute"`
		Scaling   *ScalingAlgorithmSpec   `json:"scaling,omitempty"`
	}

	ScalingGroupSpecUpdate struct {
		Spec       ScalingGroupSpec `json:"spec"`
		UpdateMask []string         `json:"update_mask"`
	}

	// WorkerControllerInstanceSpec contains the individual scaling group specs
	WorkerControllerInstanceSpec struct {
		ScalingGroupSpecs map[string]ScalingGroupSpec `json:"scaling_group_specs"`
	}

	// QueryDescribeWorkerControllerInstanceResponse describes an instance.
	QueryDescribeWorkerControllerInstanceResponse struct {
		Spec *WorkerControllerInstanceSpec `json:"spec,omitempty"`

		ValidationStatus *ValidationStatus `json:"validation_state,omitempty"`
	}

	UpdateWorkerControllerInstanceResponse struct {
		Spec *WorkerControllerInstanceSpec `json:"spec,omitempty"`
	}

	ValidationResult string

	ValidationStatus struct {
		// LastValidationTime is the time of the last validation attempt.
		LastValidationTime time.Time `json:"last_validation_time"`
		// Status is the outcome of the last validation attempt.
		Status ValidationResult `json:"status"`
		// ErrMessage is a description of any encountered validation errors. It should be empty if validation succeeded.
		ErrMessage string `json:"err_message,omitempty"`
	}
)
