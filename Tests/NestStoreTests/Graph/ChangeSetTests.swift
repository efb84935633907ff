import NestModel
import NestStore
import Testing
import NestSchema

@Suite struct ChangeSetTests {
    private func positions(_ store: Store) throws -> [ObjectID: Int64] {
        var positions: [ObjectID: Int64] = [:]
        let layout = try #require(store.layout[Fixture.item])
        try store.access {
            try store.forEach(layout.toMany[0], of: ObjectID(1)) { id, position in positions[id] = position }
        }
        return positions
    }

    private func take(_ changes: ChangeSet, into positions: inout [ObjectID: Int64]) {
        for object in changes.changedRows {
            let isHere = object.after?.values[4] == .reference(ObjectID(1))
            positions[object.id] = isHere ? object.after?.places[0].position : nil
        }
        for reposition in changes.repositions {
            #expect(positions[reposition.id] == reposition.oldPosition)
            positions[reposition.id] = reposition.newPosition
        }
    }

    /// Change sets contain every position that has changed in the end, also if a request undoes its own changes.
    @Test(arguments: [false, true])
    func changeSetsContainEveryChangedPosition(editsAndReverts: Bool) throws {
        let fixture = try Fixture()
        let ends = try fixture.perform(Fixture.insert("a"), Fixture.insert("b"), Fixture.insert("z"))
        var held = try self.positions(fixture.store)
        func edit(_ title: String) -> Mutation {
            .update(.object(ends[1]), values: [PropertyAssignment(Fixture.title, .value(.string(title)))])
        }
        for round in 0..<100 {
            let insertion = Fixture.insert("\(round)", .after(.object(ends[1])))
            // The insertion is between an edit of a neighbour and its reversal; or it is itself deleted again, in a
            // group with another request that changes something.
            let mutations =
                editsAndReverts ? [edit("changed"), insertion, edit("b")] : [insertion, .delete(.inserted(1))]
            try fixture.store.access {
                let group = try fixture.store.beginGroup(time: 1, alwaysSavepoint: false)
                for mutations in [mutations, [Fixture.insert("n", .after(.object(ends[1])))]] {
                    let result = try group.request(inSavepoint: true) { graph in
                        _ = try graph.perform(WriteTransaction(mutations: mutations))
                        return WriteDescription(name: "test", key: nil, requestHash: 0, sessionNumber: 1)
                    }
                    if let result { self.take(result.changes, into: &held) }
                }
                try group.commit()
            }
            #expect(try self.positions(fixture.store) == held, "round \(round)")
        }
    }
}
