import DequeModule
import NestModel

/// Fair scheduling of writes: the writes that wait for their turn, and the later requests of their connections.
///
/// A turn ends when its writes have taken `Limits.turnStepsMax` steps. The remaining writes wait here. The next turn
/// begins with the connections whose writes took the fewest steps lately: after a long write, every other connection
/// gets one write before the next long one. The requests of one connection keep their order.
struct WriteTurns {
    enum Item {
        case write(WriteRequest)
        /// A request that is not a write. It sees the writes before it.
        case other(EngineInput)
    }

    private var queues: [ConnectionID: Deque<Item>] = [:]
    /// Connections with a queue, in the order of arrival.
    private var order: [ConnectionID] = []
    /// The steps of expensive writes, by connection; halved with each tick.
    private var spent: [ConnectionID: Int] = [:]
    /// Connections with a write whose fate is open: their later requests wait.
    private var held: Set<ConnectionID> = []

    var isEmpty: Bool { self.queues.isEmpty }

    /// The number of waiting requests.
    var count: Int { self.queues.values.reduce(0) { $0 + $1.count } }

    /// Whether a request of the connection waits here; its later requests then wait too.
    func holds(_ id: ConnectionID) -> Bool {
        !self.queues.isEmpty && self.queues[id] != nil || !self.held.isEmpty && self.held.contains(id)
    }

    /// Lets the later requests of connections wait until `release`.
    mutating func hold(_ ids: some Sequence<ConnectionID>) { self.held.formUnion(ids) }

    mutating func release() { self.held = [] }

    /// Whether the fate of a write of the connection is open.
    func hasOpenWrite(_ id: ConnectionID) -> Bool { !self.held.isEmpty && self.held.contains(id) }

    /// Takes everything that waits, in the order of each connection.
    mutating func takeAll() -> [(id: ConnectionID, items: Deque<Item>)] {
        defer { (self.queues, self.order) = ([:], []) }
        return self.order.map { ($0, self.queues[$0] ?? []) }
    }

    mutating func append(_ item: Item, of id: ConnectionID) {
        if self.queues[id] == nil { self.order.append(id) }
        self.queues[id, default: []].append(item)
    }

    /// Takes the writes of the next turn, and the other requests that follow them. The connections take turns with one
    /// write each; those that have spent the fewest steps come first.
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

    /// Takes one write of a connection, and the other requests up to its next write.
    private mutating func takeOne(
        of id: ConnectionID,
        _ writes: inout [WriteRequest],
        _ others: inout [EngineInput]
    ) -> Bool {
        if self.first(of: id)?.isBeingPrepared ?? false { return false }
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

    /// Returns the write that a connection waits for.
    func first(of id: ConnectionID) -> WriteRequest? {
        if case .write(let write)? = self.queues[id]?.first { write } else { nil }
    }

    /// The first write that waits for its preparation to begin, or for others to end.
    var firstUnprepared: WriteRequest? {
        for id in self.order {
            guard let write = self.first(of: id) else { continue }
            switch write.stage {
            case .wanted, .waiting: return write
            case .unknown, .preparing, .impossible, .failed: continue
            }
        }
        return nil
    }

    /// Puts back the writes that a turn did not reach, together with the later requests of their connections, which it
    /// removes from `later`. Returns these connections.
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

    /// Lets the requests of `later` wait whose connections have earlier ones here.
    mutating func hold(_ later: inout [EngineInput]) {
        guard !self.isEmpty else { return }
        later.removeAll { input in
            guard case .request(let id, _, _) = input, self.queues[id] != nil else { return false }
            self.append(.other(input), of: id)
            return true
        }
    }

    /// The steps that a connection has spent lately.
    func spent(by id: ConnectionID) -> Int { self.spent[id] ?? 0 }

    mutating func note(_ steps: Int, of id: ConnectionID) { self.spent[id, default: 0] += steps }

    /// Halves the spent steps, so that older writes count for less.
    mutating func forgetHalf() {
        guard !self.spent.isEmpty else { return }
        self.spent = self.spent.mapValues { $0 / 2 }.filter { $0.value > 0 }
    }

    /// Removes the waiting requests of a connection that is gone.
    mutating func remove(_ id: ConnectionID) {
        self.spent[id] = nil
        self.held.remove(id)
        guard self.queues.removeValue(forKey: id) != nil else { return }
        self.order.removeAll { $0 == id }
    }
}
