import CoreMetrics
import NIOConcurrencyHelpers

/// Keeps the values recorded through swift-metrics, for scrapes. Pass it to `MetricsSystem.bootstrap`.
///
/// The label `nest.bytes.in` of a counter becomes the metric `nest_bytes_in_total`; that of a timer would become
/// `nest_bytes_in_seconds`.
package final class MetricRegistry: MetricsFactory {
    private struct Key: Hashable {
        var name: String
        var labels: [[String]]
    }

    private let instruments = NIOLockedValueBox<[Key: any MetricInstrument]>([:])

    package init() {}

    /// Returns everything recorded so far, in the order of names.
    package func families() -> [MetricFamily] {
        let all = self.instruments.withLockedValue { $0 }
        return Dictionary(grouping: all) { $0.key.name }.sorted { $0.key < $1.key }.map { name, entries in
            let samples = entries.sorted { $0.key.labels.lexicographicallyPrecedes($1.key.labels, by: Self.isBefore) }
                .flatMap { key, instrument in
                    instrument.samples().map { sample in
                        let own = key.labels.map { (name: $0[0], value: $0[1]) }
                        return MetricFamily.Sample(
                            suffix: sample.suffix,
                            labels: own + sample.labels,
                            value: sample.value
                        )
                    }
                }
            return MetricFamily(name, entries[0].value.kind, help: MetricHelp.text(of: name), samples: samples)
        }
    }

    private static func isBefore(_ a: [String], _ b: [String]) -> Bool { a.lexicographicallyPrecedes(b) }

    private func instrument<Instrument: MetricInstrument>(
        _ label: String,
        _ suffix: String,
        _ dimensions: [(String, String)],
        _ make: () -> Instrument
    ) -> Instrument {
        var name = label.replacing(/[^a-zA-Z0-9_]/, with: "_")
        if !name.hasSuffix(suffix) { name += suffix }
        let key = Key(name: name, labels: dimensions.map { [$0.0, $0.1] })
        return self.instruments.withLockedValue { instruments in
            if let known = instruments[key] as? Instrument { return known }
            let made = make()
            instruments[key] = made
            return made
        }
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        self.instrument(label, "_total", dimensions) { CounterInstrument() }
    }

    package func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        self.instrument(label, "_total", dimensions) { CounterInstrument() }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        self.instrument(label, "", dimensions) { GaugeInstrument() }
    }

    package func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        if aggregate { return self.instrument(label, "", dimensions) { SummaryInstrument() } }
        return self.instrument(label, "", dimensions) { GaugeInstrument() }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        self.instrument(label, "_seconds", dimensions) { HistogramInstrument() }
    }

    // Values are kept: a counter that starts again under its name would look like a restart of the process.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}
