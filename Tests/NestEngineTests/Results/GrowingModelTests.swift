import NestDocuments
import NestEngine
import NestModel
import NestProtocol
import NestSchema
import NestStore
import NestTestSupport
import Testing

/// The model changes while clients are connected. Their views go on.
@Suite struct GrowingModelTests {
    /// `NEST_SEED` repeats a history.
    @Test func viewsGoOnWhileTheModelGrows() throws {
        var counts: [String: Int] = [:]
        var (done, compared) = (0, 0)
        for seed in Seeds.range(0..<24) {
            let simulation = try ResultsSimulation(seed: seed, grows: true)
            do { try simulation.run(steps: Seeds.steps(60)) } catch { Issue.record("\(simulation.what): \(error)") }
            counts.merge(simulation.counts) { $0 + $1 }
            done += simulation.done
            compared += simulation.compared
        }
        if !Seeds.isUsual { print("\(done) writes, \(compared) states, \(counts)") }
        guard Seeds.isUsual else { return }
        #expect(counts["grown", default: 0] > 100 && counts["tried", default: 0] > 5, "\(counts)")
        #expect(done > 400 && compared > 2_000, "\(done) writes, \(compared) states")
    }

    private static func grown(_ change: (inout ModelDraft) -> Void) throws -> ManagedObjectModel {
        var draft = ModelDraft(.nestedList)
        change(&draft)
        return try draft.compile()
    }

    private static func apply(_ model: ManagedObjectModel, isDryRun: Bool = false) -> EngineRequest {
        .query(ApplyModel(model, isDryRun: isDryRun))
    }

    /// Undo reaches back across a change of the model, and the values of the new property go with their objects.
    @Test func undoReachesAcrossAChange() throws {
        let fixture = try EngineFixture()
        let ann = try fixture.connect(session: 1)
        try fixture.perform([ann.subscribe(EngineFixture.root)])
        let id = try #require(try fixture.write(ann, [EngineFixture.insert("first")]).firstInserted)
        try fixture.write(ann, [EngineFixture.edit(id, "second")])
        let model = try Self.grown { draft in
            var rank = AttributeDraft(name: "rank", type: .integer)
            rank.defaultValue = .integer(7)
            draft.entities[0].attributes += [.named("remark", .string), rank]
        }
        let applied = try fixture.ask(ann, Self.apply(model)).message(ModelApplied.self)?.applied
        #expect(applied?.outcome == .applied && applied?.changes.count == 2)
        // The root and the item.
        #expect(applied?.rowCount == 2)
        let note = fixture.store.layout.model.number("Item", "remark")
        try fixture.write(ann, [.update(.object(id), values: [PropertyAssignment(note, .value(.string("mine")))])])
        let rank = fixture.store.layout.model.number("Item", "rank")
        let columns = try #require(fixture.store.layout[EngineFixture.item])
        for count in 1...2 {
            let reply = try fixture.ask(ann, .undo(key: nil))
            #expect(reply.receipt?.isChanged == true, "undo \(count): \(reply)")
        }
        let undone = try #require(try fixture.store.access { try fixture.store.row(EngineFixture.item, id) })
        #expect(undone.values.decoded.contains(.string("first")) && !undone.values.decoded.contains(.string("mine")))
        #expect(undone.values[try #require(columns.slot(of: rank))] == .integer(7))
        for count in 1...2 {
            let reply = try fixture.ask(ann, .redo(key: nil))
            #expect(reply.receipt?.isChanged == true, "redo \(count): \(reply)")
        }
        let row = try fixture.store.access { try fixture.store.row(EngineFixture.item, id) }
        #expect(
            row?.values.decoded.contains(.string("mine")) == true
                && row?.values.decoded.contains(.string("second")) == true
        )
        // A restart with the older model serves the newer one.
        let hash = fixture.store.layout.modelHash
        fixture.keepsAppliedModel = true
        try fixture.restart()
        #expect(fixture.store.layout.modelHash == hash && fixture.store.hasKeptModel)
        #expect(try fixture.store.access { try fixture.store.row(EngineFixture.item, id) } == row)
    }

    /// What cannot be done live is refused as a whole, and its text lists why.
    @Test func whatIsNotLiveIsRefused() throws {
        let fixture = try EngineFixture()
        let ann = try fixture.connect(session: 1)
        let hash = fixture.store.layout.modelHash
        let model = try Self.grown { draft in
            draft.entities[0].attributes.append(.named("remark", .string))
            draft.entities[0].attributes.removeAll { $0.name == "done" }
            draft.entities[0].uniquenessConstraints.append(["extra"])
            var below = EntityDraft(name: "Below")
            below.parent = "Other"
            draft.entities += [EntityDraft(name: "Other"), below]
        }
        let tried = try fixture.ask(ann, Self.apply(model, isDryRun: true)).message(ModelApplied.self)?.applied
        #expect(tried?.outcome == .refused)
        #expect(tried?.changes.filter { !$0.isLive }.map(\.text) == tried?.changes.prefix(2).map(\.text))
        let error = try #require(try fixture.ask(ann, Self.apply(model)).error)
        #expect(error.code == .conflict)
        for text in [
            "Item.done is gone (it removes something)",
            "Item: extra must now be unique (all objects must be checked)", "nestd migrate",
        ] { #expect(error.message.contains(text), "\(error.message)") }
        #expect(!error.message.contains("remark"))
        #expect(fixture.store.layout.modelHash == hash && ann.modelHash == hash)
    }

    @Test func anEntityBelowAnOldOneIsRefused() throws {
        let fixture = try EngineFixture(model: try ModelDraft.club.compile())
        let ann = try fixture.connect(session: 1)
        var draft = ModelDraft(fixture.store.layout.model)
        var below = EntityDraft(name: "Below")
        below.parent = "Group"
        draft.entities.append(below)
        let error = try #require(try fixture.ask(ann, Self.apply(try draft.compile())).error)
        #expect(error.code == .conflict && error.message.contains("what clients do depends on it"), "\(error)")
    }

    @Test func faultsAreRefused() throws {
        let fixture = try EngineFixture()
        let ann = try fixture.connect(session: 1)
        let model = ManagedObjectModel(entities: [
            EntityDescription(number: 1, name: "no name", attributes: [], relationships: [])
        ])
        let error = try #require(try fixture.ask(ann, Self.apply(model)).error)
        #expect(error.code == .invalid && error.message.hasPrefix("the model cannot be served: "), "\(error)")
        var wrong: [ManagedObjectModel] = []
        for (pattern, value) in [("(", AttributeValue.null), ("[a-z]+", .string("7"))] {
            wrong.append(
                try Self.grown { draft in
                    var code = AttributeDraft(name: "code", type: .string)
                    (code.isOptional, code.pattern, code.defaultValue) = (true, pattern, value)
                    draft.entities[0].attributes.append(code)
                }
            )
        }
        let item = ManagedObjectModel.nestedList.entities[0].number
        let request = RequestDescription(name: "r", source: EntityNumber(999), entity: item, predicate: "", sort: "")
        wrong.append(ManagedObjectModel(entities: ManagedObjectModel.nestedList.entities, requests: [request]))
        for model in wrong {
            for isDryRun in [true, false] {
                let error = try #require(try fixture.ask(ann, Self.apply(model, isDryRun: isDryRun)).error)
                #expect(error.code == .invalid, "\(error)")
            }
        }
    }

    /// The texts of changes are cut by bytes, after a whole character.
    @Test func longTextsOfChangesAreCut() throws {
        let fixture = try EngineFixture()
        let ann = try fixture.connect(session: 1)
        for pattern in [String(repeating: "ж", count: 400), String(repeating: "漢", count: 300)] {
            let model = try Self.grown { $0.entities[0].attributes[0].pattern = pattern }
            let applied = try fixture.ask(ann, Self.apply(model, isDryRun: true)).message(ModelApplied.self)?.applied
            let change = try #require(applied?.changes.first)
            #expect(
                change.text.utf8.count <= Limits.modelChangeBytesMax && change.text.hasSuffix(String(pattern.first!))
            )
        }
    }

    @Test func theSameModelChangesNothing() throws {
        let fixture = try EngineFixture()
        let ann = try fixture.connect(session: 1)
        let applied = try fixture.ask(ann, Self.apply(.nestedList)).message(ModelApplied.self)?.applied
        #expect(applied?.outcome == .unchanged && applied?.changes.isEmpty == true)
    }

    /// An empty list of properties in a fetch means those of the model that the client was welcomed with: it counts the
    /// values of a row by that.
    @Test func anEmptyListMeansTheModelOfWelcome() throws {
        let fixture = try EngineFixture()
        let ann = try fixture.connect(session: 1)
        let fetch = ObjectFetchRequest(entity: EngineFixture.item)
        func width(_ client: SimulatedClient) throws -> Int? {
            guard
                case .snapshot(let header, let bodies, _) = try fixture.ask(client, .fetch(fetch, atLeast: Revision(0)))
            else { return nil }
            return (1...20).first { count in
                let rows = try? ByteReader.read(bodies[0].bytes) { (reader) throws(DecodingFailure) in
                    let rows = try reader.rows(valueCount: count)
                    try reader.finish("rows")
                    return rows
                }
                return rows?.count == header.rowCount
            }
        }
        try fixture.write(ann, [EngineFixture.insert("one")])
        let before = try #require(try width(ann))
        let model = try Self.grown { $0.entities[0].attributes.append(.named("remark", .string)) }
        _ = try fixture.ask(ann, Self.apply(model))
        #expect(try width(ann) == before)
        #expect(try width(try fixture.connect(session: 2)) == before + 1)
    }

    /// The limit of rows is that of values and indexes together.
    @Test func tooManyRowsAreRefused() throws {
        let fixture = try EngineFixture()
        let ann = try fixture.connect(session: 1)
        try fixture.write(ann, (0..<9).map { EngineFixture.insert("\($0)") })
        let model = try Self.grown { draft in
            var rank = AttributeDraft(name: "rank", type: .integer)
            rank.defaultValue = .integer(0)
            draft.entities[0].attributes.append(rank)
            draft.entities[0].indexes.append(["rank"])
        }
        let store = fixture.store
        // Ten rows, written and indexed.
        #expect(throws: StoreError.self) { try store.apply(model, isDryRun: false, now: 0, rowsMax: 19) }
        #expect(try store.apply(model, isDryRun: true, now: 0, rowsMax: 20).isLive)
        #expect(try !store.apply(model, isDryRun: true, now: 0, rowsMax: 19).isLive)
        let plain = try Self.grown { $0.entities[0].attributes.append(.named("remark", .string)) }
        #expect(try store.apply(plain, isDryRun: true, now: 0, rowsMax: 0).isLive, "a column without values")
    }
}
