import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestStore

/// Passes the records that this node appends as the leader to the connections of the nodes that follow it.
///
/// The engine's thread puts records into the ring. A connection takes them from there when its socket accepts more, so
/// that a follower that reads slowly costs no memory: it falls out of the ring and reads the log.
final class RecordFeed: Sendable {
    private struct State {
        /// `nil`: the node has not led yet.
        var ring: RecordRing?
        /// The epoch in which the node leads; `nil`: it does not.
        var epoch: Int64?
        var followers: [ConnectionID: ConnectionLoop] = [:]
    }

    private let ringBytes: Int
    private let state = NIOLockedValueBox(State())

    init(ringBytes: Int) {
        self.ringBytes = ringBytes
    }

    // MARK: The engine's side

    /// Called on the engine's thread, while the engine's effects are delivered. Takes the lock once, and only for
    /// effects of the log.
    func take(_ effects: [EngineEffect]) {
        let events = effects.compactMap { if case .replica(let event) = $0 { event } else { nil } }
        guard !events.isEmpty else { return }
        let followers = self.state.withLockedValue { state -> [ConnectionLoop] in
            let before = (state.epoch, state.ring?.last)
            self.take(events, &state)
            return before == (state.epoch, state.ring?.last) ? [] : Array(state.followers.values)
        }
        guard !followers.isEmpty else { return }
        var woken: Set<ObjectIdentifier> = []
        for loop in followers where woken.insert(ObjectIdentifier(loop)).inserted {
            loop.eventLoop.execute { loop.sendRecords() }
        }
    }

    private func take(_ events: [ReplicaEvent], _ state: inout State) {
        var position: LogPosition?
        for event in events {
            switch event {
            case .appended(let entry):
                state.ring?.append(entry)
            case .applied(let log):
                position = log.position
            case .leading(let log):
                state.epoch = log.writer.epoch
                position = log.position
            case .following, .damaged, .mustReopen:
                state.epoch = nil
            default:
                break
            }
        }
        guard let position else { return }
        if state.ring == nil { state.ring = RecordRing(after: position, bytesMax: self.ringBytes) }
        state.ring?.advance(to: position)
    }

    // MARK: The followers' side

    /// Wakes the loop from now on whenever there is something for the connection.
    func add(_ connection: ConnectionID, on loop: ConnectionLoop) {
        self.state.withLockedValue { $0.followers[connection] = loop }
    }

    func remove(_ connection: ConnectionID) { self.state.withLockedValue { $0.followers[connection] = nil } }

    /// The newest record of the leader; `nil`: the node does not lead.
    var head: LogHead? {
        self.state.withLockedValue { state in
            guard let epoch = state.epoch, let last = state.ring?.last else { return nil }
            return LogHead(epoch: epoch, position: last.position)
        }
    }

    /// Returns the next records behind a position.
    func records(after position: LogPosition) -> RecordRing.Reading {
        self.state.withLockedValue { state in
            guard state.epoch != nil, let ring = state.ring else { return .behind }
            return ring.records(after: position, bytesMax: Limits.chunkBytes)
        }
    }
}
