import NestModel
import NestProtocol
import NestSchema
import NestTestSupport
import Testing

@testable import NestStore

/// A prepared import writes most rows from the bytes of their chunk. The oracle is an import as one piece, which makes
/// and checks an object of each row.
@Suite struct PlainImportTests {
    /// A model with attributes of random types, required ones, defaults and limits among them.
    private static func attributes(_ random: inout SeededRandom) -> [AttributeDraft] {
        let types: [AttributeType] = [.string, .integer, .boolean, .date, .data, .uuid, .double, .integer16, .uri]
        return (0..<1 + random.below(7)).map { number in
            let type = types[random.below(random.oneIn(2) ? 6 : types.count)]
            return AttributeDraft("a\(number)", type) {
                $0.isOptional = !random.oneIn(5)
                if type == .string, random.oneIn(4) { $0.defaultValue = .string("a default of some length") }
                if type == .integer, random.oneIn(4) { $0.defaultValue = .integer(7) }
                if type == .integer, random.oneIn(6) { $0.maximum = .integer(1_000) }
                if type == .date, random.oneIn(2) { $0.defaultsToNow = true }
            }
        }
    }

    fileprivate static func value(_ type: AttributeType, _ random: inout SeededRandom) -> AttributeValue {
        switch type {
        case .string:
            let texts = ["", "a", "exactly fifteen", "more than fifteen bytes", "Grüße, κόσμε 🌍", "\u{1}\u{7f}"]
            return .string(texts[random.below(texts.count)])
        case .integer: return .integer(random.oneIn(3) ? Int64(bitPattern: random.next()) : Int64(random.below(100)))
        case .integer16: return .integer(Int64(random.below(40_000)))
        case .boolean: return .boolean(random.oneIn(2))
        case .date: return .date(Int64(bitPattern: random.next()) >> Int64(random.below(60)))
        case .data: return .data((0..<random.below(40)).map { UInt8($0) })
        case .uuid: return .uuid(Identifier128(high: random.next(), low: random.next()))
        case .double: return .double(random.oneIn(2) ? -0.0 : Double(random.below(1_000)) / 8)
        case .uri: return .string("https://example.org/\(random.below(9))")
        default: preconditionFailure("a type of the test")
        }
    }

    /// A store, an import into it, and how it ended.
    fileprivate struct Side {
        let store: NamedStore
        let staged: StagedSubtree
        let isPrepared: Bool

        init(_ draft: EntityDraft, _ columns: [String], _ rows: [SubtreeRow], isPrepared: Bool) throws {
            let store = try NamedStore(draft)
            self.store = store
            self.isPrepared = isPrepared
            let entity = store.entity("Step")
            var chunks = try SpooledChunks(directory: store.fixture.directory.path)
            var writer = SubtreeChunkWriter(valueCount: columns.count, hasIDs: false)
            for (index, row) in rows.enumerated() {
                writer.append(row)
                if index % 23 == 22 { try chunks.append(writer.take()) }
            }
            if writer.rowCount > 0 { try chunks.append(writer.take()) }
            self.staged = StagedSubtree(
                request: SubtreeImport(
                    entity: entity.number,
                    placement: Placement(
                        relationship: store.property("above", entity),
                        owner: .object(ObjectID(1)),
                        place: .last
                    ),
                    properties: columns.map { store.property($0, entity) }
                ),
                chunks: chunks,
                rowCount: rows.count,
                checksum: 0
            )
        }

        /// Returns the refusal, or `nil`, and whether rows were written from the bytes of their chunk.
        func run(_ random: inout SeededRandom) throws -> (refusal: NestError?, isPlain: Bool) {
            let store = self.store.fixture.store
            var isPlain = false
            do throws(StoreError) {
                var preparation: Preparation?
                if self.isPrepared {
                    preparation = try store.access { () throws(StoreError) in
                        try store.prepare(self.staged, time: 2, stepsMax: 100_000)
                    }
                    isPlain = (preparation?.write as? PreparedImport)?.plainRows != nil
                }
                while let preparation, preparation.state == .open {
                    let count = 1 + random.below(40)
                    try store.access { () throws(StoreError) in try store.advancePreparations(count) }
                }
                try self.commit(preparation)
                return (nil, isPlain)
            } catch {
                guard case .refused(let refusal) = error else { throw error }
                return (refusal, isPlain)
            }
        }

        private func commit(_ preparation: Preparation?) throws(StoreError) {
            do {
                try self.store.fixture.commit {
                    if let preparation {
                        #expect(preparation.state == .done)
                        $0.preparation = preparation
                    }
                    _ = try $0.importSubtree(self.staged)
                }
                let store = self.store.fixture.store
                while store.hasPreparations {
                    try store.access { () throws(StoreError) in try store.advancePreparations(50) }
                }
            } catch let error as StoreError {
                throw error
            } catch {
                preconditionFailure("\(error)")
            }
        }

        /// What the journal has of each object. The time of a placement is that of the preparation, if there was one.
        func journal() throws -> [ObjectID: String] {
            let store = self.store.fixture.store
            let found = try store.access { try store.pastTransaction(store.head) }
            var changes: [ObjectID: String] = [:]
            try store.access {
                try found?.forEach { (change) throws(StoreError) in
                    var change = change
                    for index in change.placings.indices { change.placings[index].after?.place.stamp = 0 }
                    changes[change.id] = "\(change)"
                }
            }
            return changes
        }
    }

    @Test func rowsFromBytesAreThoseOfCheckedObjects() throws {
        var (plain, refused) = (0, 0)
        for seed in Seeds.range(0..<24) {
            var random = SeededRandom(seed: seed)
            let attributes = Self.attributes(&random)
            let draft = EntityDraft(
                "Step",
                attributes,
                [
                    RelationshipDraft("above", .one, "Step", inverse: "below"),
                    RelationshipDraft("below", .ordered, "Step", inverse: "above", .cascade),
                ]
            )
            let columns = attributes.filter { _ in !random.oneIn(4) }
            // Values that are refused are rare, so that most imports have many rows before one.
            let mistakes = random.oneIn(3) ? 200 : Int.max
            var depth = -1
            let rows = (0..<40 + random.below(60)).map { _ -> SubtreeRow in
                depth = random.below(min(depth, 5) + 2)
                let values = columns.map { attribute -> AttributeValue in
                    if attribute.isOptional ? random.oneIn(4) : random.below(mistakes) == 1 { return .null }
                    let type = random.below(mistakes) == 1 ? .boolean : attribute.type
                    return Self.value(type, &random)
                }
                return SubtreeRow(depth: depth, id: nil, values: values)
            }
            let parts = try Side(draft, columns.map(\.name), rows, isPrepared: true)
            let whole = try Side(draft, columns.map(\.name), rows, isPrepared: false)
            for side in [parts, whole] { try side.addOwner(attributes, seed) }
            let (first, second) = (try parts.run(&random), try whole.run(&random))
            #expect(first.refusal?.code == second.refusal?.code, "seed \(seed)")
            #expect(first.refusal?.message == second.refusal?.message, "seed \(seed)")
            if first.refusal == nil {
                #expect(try parts.store.graph() == whole.store.graph(), "seed \(seed)")
                #expect(try parts.journal() == whole.journal(), "seed \(seed)")
                #expect(try parts.journal().count == rows.count, "seed \(seed)")
            } else {
                refused += 1
            }
            plain += first.isPlain ? 1 : 0
        }
        guard Seeds.isUsual else { return }
        #expect(plain > 5 && plain < 24 && refused > 1 && refused < 18, "\(plain), \(refused)")
    }
}

extension PlainImportTests.Side {
    /// Inserts the object under which the import goes.
    fileprivate func addOwner(_ attributes: [AttributeDraft], _ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let entity = self.store.entity("Step")
        let values = attributes.map {
            PropertyAssignment(
                self.store.property($0.name, entity),
                .value(
                    $0.type == .integer || $0.type == .integer16
                        ? .integer(1) : PlainImportTests.value($0.type, &random)
                )
            )
        }
        let ids = try self.store.perform(.insert(entity: entity.number, values: values, placements: []))
        #expect(ids == [ObjectID(1)])
    }
}
