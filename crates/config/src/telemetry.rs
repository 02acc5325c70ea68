//! Settings of OpenTelemetry: whether haft sends traces, metrics and logs.
//!
//! Where they go is set by the variables of OpenTelemetry (`OTEL_EXPORTER_OTLP_ENDPOINT` and others),
//! which its exporters read themselves. Only the user sets these, because a project must not be able
//! to send what its tools do to others.

use super::declare::{default_settings, settings};

settings! {
    /// Settings of OpenTelemetry.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TelemetrySettings {
        /// Send traces, metrics and logs to the collector that the variables `OTEL_…` name.
        pub enabled: bool = "false", env "HAFT_TELEMETRY";
        /// Traces contain arguments and results of calls.
        // They may contain secrets.
        pub content: bool = "false", env "HAFT_TELEMETRY_CONTENT";
    }
}
default_settings!(TelemetrySettings);
