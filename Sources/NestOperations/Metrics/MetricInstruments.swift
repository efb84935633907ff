import CoreMetrics
import NIOConcurrencyHelpers

/// A receiver of values from swift-metrics. Each instrument keeps its own values under its own lock.
protocol MetricInstrument: AnyObject, Sendable {
    var kind: MetricFamily.Kind { get }
    func samples() -> [MetricFamily.Sample]
}

final class CounterInstrument: MetricInstrument, CounterHandler, FloatingPointCounterHandler {
    private let value = NIOLockedValueBox(0.0)

    let kind = MetricFamily.Kind.counter

    func samples() -> [MetricFamily.Sample] { [.init(value: self.value.withLockedValue { $0 })] }

    func increment(by amount: Int64) { self.value.withLockedValue { $0 += Double(amount) } }
    func increment(by amount: Double) { self.value.withLockedValue { $0 += amount } }
    func reset() { self.value.withLockedValue { $0 = 0 } }
}

final class GaugeInstrument: MetricInstrument, RecorderHandler, MeterHandler {
    private let value = NIOLockedValueBox(0.0)

    let kind = MetricFamily.Kind.gauge

    func samples() -> [MetricFamily.Sample] { [.init(value: self.value.withLockedValue { $0 })] }

    func record(_ value: Int64) { self.value.withLockedValue { $0 = Double(value) } }
    func record(_ value: Double) { self.value.withLockedValue { $0 = value } }
    func set(_ value: Int64) { self.record(value) }
    func set(_ value: Double) { self.record(value) }
    func increment(by amount: Double) { self.value.withLockedValue { $0 += amount } }
    func decrement(by amount: Double) { self.value.withLockedValue { $0 -= amount } }
}

/// Keeps the count and the sum of values.
final class SummaryInstrument: MetricInstrument, RecorderHandler {
    private let state = NIOLockedValueBox((count: 0, sum: 0.0))

    let kind = MetricFamily.Kind.summary

    func samples() -> [MetricFamily.Sample] {
        let state = self.state.withLockedValue { $0 }
        return [.init(suffix: "_sum", value: state.sum), .init(suffix: "_count", value: Double(state.count))]
    }

    func record(_ value: Int64) { self.record(Double(value)) }

    func record(_ value: Double) {
        self.state.withLockedValue { state in
            state.count += 1
            state.sum += value
        }
    }
}

/// Counts times by upper bounds.
final class HistogramInstrument: MetricInstrument, TimerHandler {
    /// In seconds.
    private static let bounds = [
        0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    private struct State {
        var counts = [Int](repeating: 0, count: HistogramInstrument.bounds.count + 1)
        var sum = 0.0
    }

    private let state = NIOLockedValueBox(State())

    let kind = MetricFamily.Kind.histogram

    func samples() -> [MetricFamily.Sample] {
        let state = self.state.withLockedValue { $0 }
        var count = 0
        var samples: [MetricFamily.Sample] = []
        for (bound, number) in zip(Self.bounds + [.infinity], state.counts) {
            count += number
            let label = (name: "le", value: MetricsText.number(bound))
            samples.append(.init(suffix: "_bucket", labels: [label], value: Double(count)))
        }
        samples.append(.init(suffix: "_sum", value: state.sum))
        samples.append(.init(suffix: "_count", value: Double(count)))
        return samples
    }

    func recordNanoseconds(_ duration: Int64) {
        let seconds = Double(duration) / 1_000_000_000
        let index = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
        self.state.withLockedValue { state in
            state.counts[index] += 1
            state.sum += seconds
        }
    }
}
