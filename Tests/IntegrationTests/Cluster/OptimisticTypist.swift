import NIOConcurrencyHelpers
import NestClient
import NestModel
import NestTestSupport
import Testing

/// Writes to a list through an optimistic client, and checks each state that the list shows.
///
/// Only the typist deletes and renames its own rows. So it knows what every state must have: no row twice, no row of
/// its own that returns after its deletion or is missing before it, and no title older than one shown before.
actor OptimisticTypist {
    /// A row of this typist in the states so far.
    private enum Life {
        case shown(title: Int)
        case gone
    }

    private let name: String
    private let list: ObjectID
    private let client: NestClient
    private let optimistic: OptimisticClient
    private let progress: ProgressCounter
    private var random: SeededRandom
    private var isStopping = false
    private var isEnding = false
    /// Whether it has stopped, and the server has all its writes.
    private(set) var isSettled = false
    /// The objects of this typist that it has not deleted, with the number of their title.
    private var own: [ObjectID: Int] = [:]
    private var deleted: Set<ObjectID> = []
    private var lives: [ObjectID: Life] = [:]
    private var writes: [PendingWrite] = []
    private var state: OptimisticState?
    /// The rows of the list now.
    var rows: [Row] { self.state?.snapshot.rows ?? [] }
    private(set) var counts: [String: Int] = [:]

    init(
        _ name: String,
        seed: UInt64,
        list: ObjectID,
        _ client: NestClient,
        _ progress: ProgressCounter
    ) async throws {
        self.name = name
        self.list = list
        self.client = client
        self.progress = progress
        self.random = SeededRandom(seed: seed)
        self.optimistic = try await client.optimistic()
    }

    /// Ends the writing. The list goes on.
    func stop() { self.isStopping = true }
    func end() { self.isEnding = true }

    /// Writes until it is stopped, and follows the list to the end.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await self.optimistic.withResults(Item.childrenOf(self.list)) { states in
                    for try await state in states { await self.saw(state) }
                }
            }
            try await waitUntil("\(self.name)'s first rows") { self.state != nil }
            while !self.isStopping {
                try await self.write()
                if self.writes.count > 1 + self.random.below(8) { try await self.finishFirst() }
            }
            while !self.writes.isEmpty { try await self.finishFirst() }
            try await waitUntil("\(self.name)'s writes to be settled") { await self.optimistic.pending.isEmpty }
            self.isSettled = true
            try await waitUntil("the end") { self.isEnding }
            group.cancelAll()
            while (try? await group.next()) != nil {}
        }
    }

    private func finishFirst() async throws {
        let write = self.writes.removeFirst()
        _ = try await write.receipt()
        await self.progress.add(1)
    }

    private func write() async throws {
        let shown = self.rows.map(\.id)
        let place = Place.near(
            left: shown.randomElement(using: &self.random).map(ObjectReference.object),
            right: nil
        )
        let placement = Placement(relationship: Item.parent, owner: .object(self.list), place: place)
        let object = self.own.keys.sorted().randomElement(using: &self.random)
        switch (self.random.below(10), object) {
        case (0..<2, let object?):
            self.own[object] = nil
            self.deleted.insert(object)
            try self.write([.delete(.object(object))], "delete")
        case (2..<5, let object?):
            let title = self.own[object]! + 1
            self.own[object] = title
            try self.write([Item.rename(object, "\(self.name) \(title)")], "rename")
        case (5..<7, let object?):
            try self.write([.move(.object(object), placement)], "move")
        default:
            let id = try await waitFor("a reserved id") { try? self.optimistic.newID() }
            self.own[id] = 0
            let title = PropertyAssignment(Item.title, .value(.string("\(self.name) 0")))
            try self.write(
                [.insertAs(id, entity: Item.entity, values: [title], placements: [placement])],
                "insert"
            )
        }
    }

    private func write(_ mutations: [Mutation], _ kind: String) throws {
        self.writes.append(try self.optimistic.write(WriteTransaction(name: kind, mutations: mutations)))
        self.counts[kind, default: 0] += 1
    }

    // MARK: Checking

    private func saw(_ state: OptimisticState) {
        self.state = state
        self.counts["states", default: 0] += 1
        if !state.pending.isEmpty { self.counts["pending states", default: 0] += 1 }
        if !state.isCurrent { self.counts["states without a connection", default: 0] += 1 }
        let rows = state.snapshot.rows
        let titles = state.snapshot.projection.firstIndex(of: Item.title)
        if Set(rows.map(\.id)).count != rows.count { self.fail("shows a row twice: \(rows.map(\.id))") }
        var missing = Set(self.lives.keys)
        for row in rows {
            missing.remove(row.id)
            let text = titles.flatMap { row.values[$0].stringValue } ?? ""
            guard text.hasPrefix(self.name), let title = Int(text.split(separator: " ").last ?? "") else { continue }
            switch self.lives[row.id] {
            case .gone: self.fail("shows \(row.id) again")
            case .shown(let before) where title < before: self.fail("shows '\(text)' after \(before) in \(row.id)")
            case .shown, nil: self.lives[row.id] = .shown(title: title)
            }
        }
        for id in missing {
            if case .shown = self.lives[id], !self.deleted.contains(id) { self.fail("lacks \(id)") }
            self.lives[id] = .gone
        }
    }

    private func fail(_ what: String) { Issue.record("\(self.name) \(what)") }

    /// The objects that it has not deleted, with their titles.
    var expected: [ObjectID: String] { self.own.mapValues { "\(self.name) \($0)" } }
}
