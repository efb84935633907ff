import NestModel
import NestStore
import NestTestSupport
import Testing

/// Opens and checks the files that a crash has left.
struct CrashedStore {
    private let directory = TemporaryDirectory(inMemory: true)
    private var path: String { self.directory.path + "/nest.sqlite" }

    init(_ files: [String: [UInt8]]) {
        for (name, bytes) in files where !name.hasSuffix("-shm") {
            FileBytes.write(bytes, to: "\(self.directory.path)/\(name)")
        }
    }

    /// The head of the store.
    func head() throws -> Revision {
        let store = try self.open()
        defer { try? store.close() }
        return store.head
    }

    /// Returns the faults of the store, if these states are allowed. `mayBeMissing`: the store need not exist.
    func faults(allowed: [StoreWork.Moment], mayBeMissing: Bool) throws -> [String] {
        let wasThere = FileBytes.exists(self.path)
        guard wasThere || mayBeMissing else { return ["the store does not exist"] }
        let store = try self.open()
        // What the crash has left of a write of many objects.
        while store.hasPreparations { try store.access { try store.advancePreparations(20) } }
        var faults = try StoredImage.damage(store)
        faults += try StoredInvariants(store.layout).broken(in: store, head: store.head)
        if wasThere {
            let image = try StoredImage.of(store)
            if !allowed.contains(where: { $0.head == store.head && $0.image == image }) {
                faults.append("revision \(store.head), image \(image), but \(allowed) is allowed")
            }
        }
        return try faults + self.faultsInUse(store)
    }

    /// Checks that the store can be written, undone, closed and opened.
    private func faultsInUse(_ store: Store) throws -> [String] {
        let head = store.head
        let before = try StoredState(store)
        try self.write(store) { _ = try $0.perform(WriteTransaction(mutations: [Fixture.insert("after the crash")])) }
        let past = try store.access { try store.pastTransaction(store.head) }
        try self.write(store) { try $0.revert(#require(past), UndoOptions(policy: .strict), store.layout) }
        if head > store.oldestBase {
            guard try store.access({ try store.pastTransaction(head) }) != nil else {
                return ["the newest revision is not in the journal"]
            }
        }
        try store.close()
        let again = try self.open()
        defer { try? again.close() }
        guard again.head.rawValue == head.rawValue + 2 else { return ["revision \(again.head), not two after \(head)"] }
        return try StoredState(again).differences(from: before)
    }

    private func write(_ store: Store, _ body: (ObjectGraph) throws -> Void) throws {
        try store.access {
            let group = try store.beginGroup(time: 1, alwaysSavepoint: false)
            _ = try group.request(inSavepoint: true) { graph in
                try body(graph)
                return Fixture.description
            }
            try group.commit()
        }
    }

    private func open() throws -> Store {
        try Store(.init(location: .file(self.path), model: .nestedList), newHistoryID: Identifier128(high: 5, low: 6))
    }
}
