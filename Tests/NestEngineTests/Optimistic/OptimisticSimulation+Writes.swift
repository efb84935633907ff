import NestEngine
import NestModel
import NestOverlay
import NestTestSupport

/// What clients write.
extension OptimisticSimulation {
    /// A client writes, or adds steps to its group.
    func write(_ client: OptimisticClient) throws {
        if let group = client.group, self.random.oneIn(3) {
            return client.endGroup(group, isGivenUp: self.random.oneIn(4), self.what)
        }
        let mutations = try self.transaction(of: client)
        guard !mutations.isEmpty else { return }
        if let group = client.group, self.random.oneIn(2) { return client.grow(group, mutations, self.what) }
        client.write(
            mutations,
            key: .random(using: &self.random),
            isOpen: client.group == nil && self.random.oneIn(6),
            place: self.random.oneIn(2) ? client.takeRefused() : nil,
            self.what
        )
    }

    /// Mostly of objects that the client shows.
    private func transaction(of client: OptimisticClient) throws -> [Mutation] {
        var mutations: [Mutation] = []
        for _ in 0..<20 {
            mutations = self.random.transaction(self.scene)
            let named = mutations.flatMap(\.references).filter { $0.rawValue > 0 }.map { ObjectID($0.rawValue) }
            if !mutations.isEmpty, client.objects.isSuperset(of: named) || self.random.oneIn(10) { break }
        }
        for index in mutations.indices {
            if case .insert(let entity, let values, let placements) = mutations[index],
                let id = try self.reserve(client)
            {
                mutations[index] = .insertAs(id, entity: entity, values: values, placements: placements)
            }
        }
        return mutations
    }

    /// A client undoes its newest write, mostly one that is under way, and sometimes goes on before the answer.
    func undo(_ client: OptimisticClient) throws {
        if self.random.below(3) > 0 { try self.perform(client.send(100), slow: client) }
        for _ in 0..<1 + self.random.below(2) { client.undo(key: .random(using: &self.random), self.what) }
        if self.random.oneIn(2) { try self.write(client) }
        if self.random.oneIn(2) { try self.perform(client.send(100), slow: client) }
    }

    /// Sends waiting writes of some clients in one batch, sometimes with a write of another session before or after.
    func send() throws {
        var inputs: [EngineInput] = []
        for client in self.clients.shuffled(using: &self.random) where self.random.below(4) > 0 {
            inputs += client.send(1 + self.random.below(3))
        }
        if self.random.oneIn(3) {
            let (_, input) = self.other.request(
                .transaction(WriteTransaction(mutations: self.random.transaction(self.scene)))
            )
            inputs.insert(input, at: self.random.below(inputs.count + 1))
        }
        try self.perform(inputs)
    }

    func writeOfAnother() throws {
        if self.random.oneIn(8) { return try self.perform([self.other.request(.undo(key: nil)).input]) }
        let mutations = self.random.transaction(self.scene)
        guard !mutations.isEmpty else { return }
        try self.perform([self.other.request(.transaction(WriteTransaction(mutations: mutations))).input])
    }

    private func reserve(_ client: OptimisticClient) throws -> ObjectID? {
        let key = ObjectIdentifier(client)
        if let id = self.reserved[key]?.popLast() { return id }
        guard !client.client.isBlocked else { return nil }
        let (request, input) = client.client.request(.reserveIDs(200))
        try self.perform([input], isReadAtOnce: true)
        guard case .reserved(let first, let count)? = client.client.replies[request] else { return nil }
        self.reserved[key] = (0..<Int64(count)).map { ObjectID(first.rawValue + $0) }.reversed()
        return self.reserved[key]?.popLast()
    }
}
