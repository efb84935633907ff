import Metrics
import NIOConcurrencyHelpers
import NestModel

/// What the rim counts: for the metrics system, and for GET_STATISTICS.
package final class ServerMetrics: Sendable {
    /// What an event loop or the engine's thread counts on its own and hands over from time to time.
    package struct Counts: Equatable, Sendable {
        package var connections = 0
        package var requests = 0
        package var errors = 0
        package var bytesIn = 0
        package var bytesOut = 0
        package var blocked = 0
        package var batches = 0
        package var hops = 0

        package init() {}

        static func += (a: inout Counts, b: Counts) {
            a.connections += b.connections
            a.requests += b.requests
            a.errors += b.errors
            a.bytesIn += b.bytesIn
            a.bytesOut += b.bytesOut
            a.blocked += b.blocked
            a.batches += b.batches
            a.hops += b.hops
        }
    }

    private let total = NIOLockedValueBox(Counts())
    private let openConnections = Gauge(label: "nest.connections")
    private let spoolBytes = Gauge(label: "nest.spool.bytes")
    private let connections = Counter(label: "nest.connections.total")
    private let requests = Counter(label: "nest.requests")
    private let errors = Counter(label: "nest.errors")
    private let bytesIn = Counter(label: "nest.bytes.in")
    private let bytesOut = Counter(label: "nest.bytes.out")
    private let blocked = Counter(label: "nest.connections.blocked.total")
    private let batches = Counter(label: "nest.engine.batches")
    private let hops = Counter(label: "nest.engine.hops")

    package init() {}

    package func add(_ counts: Counts) {
        guard counts != Counts() else { return }
        self.total.withLockedValue { $0 += counts }
        self.connections.increment(by: counts.connections)
        self.requests.increment(by: counts.requests)
        self.errors.increment(by: counts.errors)
        self.bytesIn.increment(by: counts.bytesIn)
        self.bytesOut.increment(by: counts.bytesOut)
        self.blocked.increment(by: counts.blocked)
        self.batches.increment(by: counts.batches)
        self.hops.increment(by: counts.hops)
    }

    package func record(openConnections: Int, spoolBytes: Int) {
        self.openConnections.record(openConnections)
        self.spoolBytes.record(spoolBytes)
    }

    /// What the server says of itself, as counted up to the last sweep. The names do not meet those of the engine.
    package func statistics(openConnections: Int, spoolBytes: Int) -> [Statistic] {
        let total = self.total.withLockedValue { $0 }
        return [
            ("connections", openConnections), ("connections_total", total.connections),
            ("connections_blocked_total", total.blocked), ("requests", total.requests), ("errors", total.errors),
            ("bytes_in", total.bytesIn), ("bytes_out", total.bytesOut), ("batches", total.batches),
            ("hops", total.hops), ("spool_bytes", spoolBytes),
        ].map { Statistic(name: $0.0, value: UInt64(max(0, $0.1))) }
    }
}
