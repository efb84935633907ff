import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// The to-do example: required names, ticking off, several changes at once.
    @MainActor @Suite struct DoneExample {
        private let example: Example

        init() async throws {
            self.example = try await Example("done")
            #expect(self.example.seeded == "1\n2\n3\n4\n")
        }

        @Test func anEmptyNameIsRefusedWithAReadableMessage() async throws {
            let refusal = "ToDo.name must not be empty"
            let result = try await self.example.user.run("insert", "ToDo", "name=")
            #expect(result.status == 1 && result.output == "", "\(result.report)")
            #expect(result.errors == "nestc: \(refusal) [VALIDATION_FAILED]\n")
            try await self.example.withClient { client in
                let todo = try await client.entity("ToDo")
                let context = ObjectContext(client)
                let added = try context.insert(todo, ["name": ""])
                let error = try await #require(throws: NestError.self) { try await context.save() }
                #expect(error.code == .validationFailed && error.message == refusal)
                #expect(error.faults.map(\.property) == [try todo.property("name")])
                // The changes stay in the context and can be corrected and saved.
                #expect(context.hasChanges)
                try context.set(added, of: todo, ["name": "Sweep"])
                try await context.save()
                let stored = try await client.object(try #require(context.objectID(of: added)))
                #expect(stored.entity == todo.number)

                try context.set(.object(ObjectID(1)), of: todo, ["name": ""])
                await #expect(throws: NestError.self) { try await context.save() }
                context.rollback()
                _ = try context.insert(todo)
                let missing = try await #require(throws: NestError.self) { try await context.save() }
                #expect(missing.message == "ToDo.name is required")
                #expect(try await client.count(ObjectFetchRequest(entity: todo.number)) == 5)
            }
        }

        @Test func missingAttributesGetTheirDefaults() async throws {
            let items = try await self.example.json("fetch", "--entity", "ToDo", "--sort", "createdAt")
            #expect(try items.map { try $0["id"] } == [1, 2, 3, 4])
            #expect(try items.allSatisfy { try $0["done"] == false })
            // Each item was stored in its own transaction and has its time.
            #expect(Set(try items.map { try $0["createdAt"].text }).count == 4)
        }

        @Test func tickingOffUpdatesOneRow() async throws {
            try await self.example.withClient { client in
                let todo = try await client.entity("ToDo")
                let list = try todo.request(sort: "createdAt")
                try await client.withFetchedResults(list.request, verifyDigest: true) { results in
                    var changes = results.makeAsyncIterator()
                    #expect(try await changes.next() == .snapshot(.first))
                    for isDone in [true, false] {
                        let context = ObjectContext(client)
                        try context.set(.object(ObjectID(3)), of: todo, ["done": isDone])
                        let receipt = try await context.save()
                        guard case .diff(let diff) = try await changes.next() else {
                            throw ProcessFailure("expected a diff")
                        }
                        var expected = ResultsDiff(
                            from: diff.from,
                            to: try #require(receipt).revision,
                            total: 4,
                            digest: diff.digest
                        )
                        let done = (property: try todo.property("done"), value: AttributeValue.boolean(isDone))
                        expected.updates = [ResultsDiff.Update(path: RowPosition(0, 2), values: [done])]
                        expected.ownRevisions = diff.ownRevisions
                        #expect(diff == expected)
                    }
                }
            }
        }

        @Test func theListIsSortedByCreationTime() async throws {
            try await self.example.withClient { client in
                let todo = try await client.entity("ToDo")
                let screen = ExampleScreen(try todo.request(sort: "createdAt"), title: "name")
                try await screen.run(client) { controller in
                    let context = ObjectContext(client)
                    try context.insert(todo, ["name": "Sweep"])
                    try await screen.wait(for: try await context.save(), in: controller)
                    #expect(screen.takeLog() == ["insert Sweep [0, 4]"])
                    // The earliest time moves the row to the front.
                    try context.set(.object(ObjectID(2)), of: todo, ["createdAt": AttributeValue.date(0)])
                    try await screen.wait(for: try await context.save(), in: controller)
                    #expect(
                        screen.takeLog() == [
                            "move Water the plants [0, 1] to [0, 0]", "update Water the plants [0, 1] to [0, 0]",
                        ]
                    )
                }
            }
        }

        @Test func severalChangesAreOneBatch() async throws {
            try await self.example.withClient { client in
                let todo = try await client.entity("ToDo")
                let screen = ExampleScreen(try todo.request(where: "done == NO", sort: "createdAt"), title: "name")
                try await screen.run(client) { controller in
                    let context = ObjectContext(client)
                    try context.set(.object(ObjectID(1)), of: todo, ["done": true])
                    try context.set(.object(ObjectID(4)), of: todo, ["name": "Mend the red bicycle"])
                    context.delete(.object(ObjectID(3)))
                    try context.insert(todo, ["name": "Bake a cake"])
                    let receipt = try #require(try await context.save(name: "Saturday"))
                    try await screen.wait(for: receipt, in: controller)
                    #expect(receipt.revision == Revision(5))
                    #expect(
                        screen.takeLog() == [
                            "delete Buy milk [0, 0]", "delete Call Ann [0, 2]", "insert Bake a cake [0, 2]",
                            "update Mend the red bicycle [0, 3] to [0, 1]",
                        ]
                    )
                    // A save is all or nothing.
                    try context.set(.object(ObjectID(4)), of: todo, ["done": true])
                    try context.insert(todo, ["name": ""])
                    await #expect(throws: NestError.self) { try await context.save() }
                    let undone = try await client.undo()
                    #expect(undone.name == "Saturday")
                    try await screen.wait(for: undone, in: controller)
                    #expect(
                        screen.titles(controller) == ["Buy milk", "Water the plants", "Call Ann", "Mend the bicycle"]
                    )
                }
            }
        }
    }
}
