// SPDX-License-Identifier: Apache-2.0

package resource

const TagSystem = "System"
