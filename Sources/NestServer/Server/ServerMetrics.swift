import Metrics
import NIOConcurrencyHelpers
import NestModel

/// The counters of the I/O layer, for the metrics system and for GET_STATISTICS.
package final class ServerMetrics: Sendable {
    /// Counts that an event loop or the engine's thread keeps on its own, and adds to the total from time to time.
    package struct Counts: Equatable, Sendable {
        package var connections = 0
        package var requests = 0
        package var errors = 0
        package var bytesIn = 0
        package var bytesOut = 0
        /// Pushes to connections: one that goes to ten connections counts ten times.
        package var deliveries = 0
        package var blocked = 0
        package var batches = 0
        package var hops = 0
        /// Connections that ended before WELCOME.
        package var rejected = 0
        /// Connections ended because they sent too many control frames.
        package var floods = 0
        /// Connections ended because they held the most memory when all connections together held too much.
        package var shed = 0
        /// How often the listener paused.
        package var acceptPauses = 0
        /// Answers to requests of HTTP.
        package var webRequests = 0
        /// Of these, the refusals.
        package var webRefused = 0
        /// Connections that became WebSockets.
        package var webSockets = 0

        package init() {}

        static func += (a: inout Counts, b: Counts) {
            a.connections += b.connections
            a.requests += b.requests
            a.errors += b.errors
            a.bytesIn += b.bytesIn
            a.bytesOut += b.bytesOut
            a.deliveries += b.deliveries
            a.blocked += b.blocked
            a.batches += b.batches
            a.hops += b.hops
            a.rejected += b.rejected
            a.floods += b.floods
            a.shed += b.shed
            a.acceptPauses += b.acceptPauses
            a.webRequests += b.webRequests
            a.webRefused += b.webRefused
            a.webSockets += b.webSockets
        }
    }

    /// Current values.
    package struct Levels: Equatable, Sendable {
        package var connections: Int
        package var spoolBytes: Int
        /// Bytes that connections hold: received and not handled yet, or waiting to be sent.
        package var connectionBytes: Int

        package init(connections: Int, spoolBytes: Int, connectionBytes: Int) {
            self.connections = connections
            self.spoolBytes = spoolBytes
            self.connectionBytes = connectionBytes
        }
    }

    private let total = NIOLockedValueBox(Counts())
    private let openConnections = Gauge(label: "nest.connections")
    private let spoolBytes = Gauge(label: "nest.spool.bytes")
    private let connectionBytes = Gauge(label: "nest.connections.bytes")
    private let connections = Counter(label: "nest.connections.total")
    private let requests = Counter(label: "nest.requests")
    private let errors = Counter(label: "nest.errors")
    private let bytesIn = Counter(label: "nest.bytes.in")
    private let bytesOut = Counter(label: "nest.bytes.out")
    private let deliveries = Counter(label: "nest.deliveries")
    private let blocked = Counter(label: "nest.connections.blocked.total")
    private let batches = Counter(label: "nest.engine.batches")
    private let hops = Counter(label: "nest.engine.hops")
    private let rejected = Counter(label: "nest.connections.rejected.total")
    private let floods = Counter(label: "nest.connections.flooding.total")
    private let shed = Counter(label: "nest.connections.shed.total")
    private let acceptPauses = Counter(label: "nest.accept.pauses.total")
    private let webRequests = Counter(label: "nest.web.requests")
    private let webRefused = Counter(label: "nest.web.refused")
    private let webSockets = Counter(label: "nest.web.sockets")

    package init() {}

    package func add(_ counts: Counts) {
        guard counts != Counts() else { return }
        self.total.withLockedValue { $0 += counts }
        self.connections.increment(by: counts.connections)
        self.requests.increment(by: counts.requests)
        self.errors.increment(by: counts.errors)
        self.bytesIn.increment(by: counts.bytesIn)
        self.bytesOut.increment(by: counts.bytesOut)
        self.deliveries.increment(by: counts.deliveries)
        self.blocked.increment(by: counts.blocked)
        self.batches.increment(by: counts.batches)
        self.hops.increment(by: counts.hops)
        self.rejected.increment(by: counts.rejected)
        self.floods.increment(by: counts.floods)
        self.shed.increment(by: counts.shed)
        self.acceptPauses.increment(by: counts.acceptPauses)
        self.webRequests.increment(by: counts.webRequests)
        self.webRefused.increment(by: counts.webRefused)
        self.webSockets.increment(by: counts.webSockets)
    }

    package func record(_ levels: Levels) {
        self.openConnections.record(levels.connections)
        self.spoolBytes.record(levels.spoolBytes)
        self.connectionBytes.record(levels.connectionBytes)
    }

    /// Returns the server's own statistics, as of the last sweep. Their names differ from those of the engine.
    package func statistics(_ levels: Levels, _ commits: CommitTimes.Summary) -> [Statistic] {
        let total = self.total.withLockedValue { $0 }
        let process = ProcessFigures()
        return [
            ("connections", levels.connections), ("connections_total", total.connections),
            ("connections_blocked_total", total.blocked), ("connections_rejected_total", total.rejected),
            ("connections_flooding_total", total.floods), ("connections_shed_total", total.shed),
            ("connection_bytes", levels.connectionBytes), ("accept_pauses_total", total.acceptPauses),
            ("requests", total.requests), ("errors", total.errors), ("bytes_in", total.bytesIn),
            ("bytes_out", total.bytesOut), ("deliveries", total.deliveries), ("batches", total.batches),
            ("hops", total.hops), ("spool_bytes", levels.spoolBytes), ("web_requests", total.webRequests),
            ("web_refused", total.webRefused), ("web_sockets", total.webSockets),
            ("commit_batches_60s", commits.count), ("commit_p50_us", commits.median),
            ("commit_p99_us", commits.percentile99), ("commit_max_us", commits.longest),
            ("memory_resident_bytes", process.residentBytes), ("uptime_seconds", process.uptimeSeconds),
        ].map { Statistic(name: $0.0, value: UInt64(max(0, $0.1))) }
    }
}
