// SPDX-License-Identifier: Apache-2.0

package api

const tagSystem = "System"
