import Foundation
import NestModel
import NestStore
import NestTestSupport
import Testing

/// Flips bits of a store's file. SQLite has no checksums of pages, so a value may be wrong; but no read traps: there is
/// an error or a result.
///
/// `NEST_TURNED_BITS` is the number of files that are tried.
@Suite struct TurnedBitTests {
    /// Calls everything that reads, then everything that writes, until it fails.
    private func use(_ path: String) throws {
        let configuration = Store.Configuration(location: .file(path), model: .nestedList)
        let store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1))
        defer { try? store.close() }
        let request = SubtreeRequest(root: ObjectID(1), relationship: PropertyNumber(6), properties: [])
        _ = try? store.reader.exportSubtree(request, atLeast: Revision(0), isCompressed: false, deadline: .none)
        _ = try? store.reader.check(deadline: .none) { _ in }
        for id in 1...Int64(60) {
            _ = try? store.access { try store.detail(ObjectID(id)) }
        }
        try? store.access { try store.forEachChange(after: Revision(0), { _, _ in }, reposition: { _, _ in }) }
        for revision in 1...UInt64(30) {
            guard let past = try? store.access({ try store.pastTransaction(Revision(revision)) }) else { continue }
            try? self.write(store) { try $0.revert(past, UndoOptions(policy: .strict), store.layout) }
        }
        for id in 2...Int64(20) {
            try? self.write(store) { graph in
                _ = try graph.perform(
                    WriteTransaction(mutations: [
                        Fixture.insert("new", under: .object(ObjectID(id)), .first),
                        Fixture.move(ObjectID(id), under: ObjectID(1)), .delete(.object(ObjectID(id + 1))),
                    ])
                )
            }
        }
    }

    private func write(_ store: Store, _ body: (ObjectGraph) throws -> Void) throws {
        try store.access {
            let group = try store.beginGroup(time: 1_000, alwaysSavepoint: true)
            do {
                _ = try group.request(inSavepoint: true) { graph in
                    try body(graph)
                    return Fixture.description
                }
                try group.commit()
            } catch {
                try group.rollback()
                throw error
            }
        }
    }

    /// A root below its own objects makes an endless tree; its export ends with an error.
    @Test func exportsOfCyclicSubtreesEnd() throws {
        let fixture = try Fixture()
        try fixture.perform(Fixture.insert("a"), Fixture.insert("b"))
        try fixture.store.close()
        try StoredFile.change(
            fixture.path,
            "PRAGMA foreign_keys = OFF; UPDATE Item SET parent = 2, nest_parent_position = 1 WHERE id = 1"
        )
        let configuration = Store.Configuration(location: .file(fixture.path), model: .nestedList)
        let store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1))
        defer { try? store.close() }
        let request = SubtreeRequest(root: ObjectID(1), relationship: PropertyNumber(6), properties: [])
        expectRefusal(.storageCorrupt) {
            _ = try store.reader.exportSubtree(
                request,
                atLeast: Revision(0),
                isCompressed: false,
                deadline: .none
            )
        }
    }

    @Test func readingADamagedStoreNeverTraps() throws {
        let count = ProcessInfo.processInfo.environment["NEST_TURNED_BITS"].flatMap(Int.init) ?? 150
        let seed =
            ProcessInfo.processInfo.environment["NEST_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 1...1_000_000)
        print("turned bits: seed \(seed)")
        var random = SeededRandom(seed: seed)
        let fixture = try Fixture(inMemory: true)
        for number in 0..<50 {
            let parent = ObjectID(Int64(1 + random.below(max(number, 1))))
            try fixture.perform(Fixture.insert("item \(number)", under: .object(parent)))
        }
        try fixture.perform(Fixture.move(ObjectID(9), under: ObjectID(1), .first), .delete(.object(ObjectID(40))))
        try fixture.store.close()
        let bytes = FileBytes.read(fixture.path)
        // Empty parts of the file are not read.
        let offsets = bytes.indices.filter { bytes[$0] != 0 || random.oneIn(64) }
        var (refused, found) = (0, 0)
        for _ in 0..<count {
            let directory = TemporaryDirectory(inMemory: true)
            let path = "\(directory.path)/nest.sqlite"
            var turned = bytes
            for _ in 0...random.below(3) { turned[offsets[random.below(offsets.count)]] ^= 1 << UInt8(random.below(8)) }
            FileBytes.write(turned, to: path)
            do throws(StoreError) {
                if try !Store.check(path, progress: { _ in }).problems.isEmpty { found += 1 }
            } catch {
                refused += 1
            }
            try? self.use(path)
        }
        print("turned bits: \(count) files, \(refused) refused, \(found) with problems")
        #expect(count < 50 || refused + found > 0)
    }
}
