//! Exact `resource.Quantity`.
