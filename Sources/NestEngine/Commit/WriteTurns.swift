import DequeModule
import NestModel

/// Writes that wait for their turn, and what their connections asked for after them.
///
/// A turn ends when its writes have taken `Limits.turnStepsMax` steps. The rest waits here, and the next turn begins
/// with the connections whose writes have cost least lately: after a write that takes long, one of each other
/// connection comes before the next such write. The requests of one connection keep their order.
struct WriteTurns {
    enum Item {
        case write(WriteRequest)
        /// Another request: it sees the writes before it.
        case other(EngineInput)
    }

    private var queues: [ConnectionID: Deque<Item>] = [:]
    /// Connections with a queue, in the order in which they came.
    private var order: [ConnectionID] = []
    /// Steps of writes that took many, halved with each tick.
    private var spent: [ConnectionID: Int] = [:]

    var isEmpty: Bool { self.queues.isEmpty }

    /// Requests that wait.
    var count: Int { self.queues.values.reduce(0) { $0 + $1.count } }

    /// Whether the connection has a request here: those after it wait too.
    func holds(_ id: ConnectionID) -> Bool { !self.queues.isEmpty && self.queues[id] != nil }

    mutating func append(_ item: Item, of id: ConnectionID) {
        if self.queues[id] == nil { self.order.append(id) }
        self.queues[id, default: []].append(item)
    }

    /// The writes of the next turn, and the other requests that follow them: of each connection one after the other,
    /// those first that have spent least.
    mutating func next(countMax: Int) -> (writes: [WriteRequest], others: [EngineInput]) {
        var writes: [WriteRequest] = []
        var others: [EngineInput] = []
        let spent = self.spent
        let turns = self.order.enumerated().sorted { a, b in
            (spent[a.element] ?? 0, a.offset) < (spent[b.element] ?? 0, b.offset)
        }.map(\.element)
        var isTaking = true
        while isTaking, writes.count < countMax {
            isTaking = false
            for id in turns where writes.count < countMax {
                isTaking = self.takeOne(of: id, &writes, &others) || isTaking
            }
        }
        self.order.removeAll { self.queues[$0] == nil }
        return (writes, others)
    }

    /// One write of a connection, and the other requests up to its next write.
    private mutating func takeOne(
        of id: ConnectionID,
        _ writes: inout [WriteRequest],
        _ others: inout [EngineInput]
    ) -> Bool {
        guard var queue = self.queues.removeValue(forKey: id) else { return false }
        if case .write(let write)? = queue.first {
            writes.append(write)
            queue.removeFirst()
        }
        while case .other(let input)? = queue.first {
            others.append(input)
            queue.removeFirst()
        }
        if !queue.isEmpty { self.queues[id] = queue }
        return true
    }

    /// A turn ended before these writes: they wait for the next, and with them the later requests of their connections,
    /// which are removed from `later`. Returns those connections.
    mutating func putBack(_ writes: ArraySlice<WriteRequest>, _ later: inout [EngineInput]) -> Set<ConnectionID> {
        let waiting = Set(writes.map(\.connection))
        var others: [(id: ConnectionID, input: EngineInput)] = []
        later.removeAll { input in
            guard case .request(let id, _, _) = input, waiting.contains(id) else { return false }
            others.append((id, input))
            return true
        }
        var returning: [ConnectionID: Deque<Item>] = [:]
        var came: [ConnectionID] = []
        for write in writes {
            if returning[write.connection] == nil { came.append(write.connection) }
            returning[write.connection, default: []].append(.write(write))
        }
        for (id, input) in others { returning[id]?.append(.other(input)) }
        for id in came {
            if self.queues[id] == nil { self.order.append(id) }
            self.queues[id] = returning[id]! + (self.queues[id] ?? [])
        }
        return waiting
    }

    mutating func note(_ steps: Int, of id: ConnectionID) { self.spent[id, default: 0] += steps }

    /// Time has passed: what was spent long ago counts for less.
    mutating func forgetHalf() {
        guard !self.spent.isEmpty else { return }
        self.spent = self.spent.mapValues { $0 / 2 }.filter { $0.value > 0 }
    }

    /// The connection is gone, and what it asked for is not done.
    mutating func remove(_ id: ConnectionID) {
        self.spent[id] = nil
        guard self.queues.removeValue(forKey: id) != nil else { return }
        self.order.removeAll { $0 == id }
    }
}
