import NestClient
import NestModel
import NestServer
import NestServerTestSupport
import NestStore
import NestTestSupport
import Testing

extension SocketTests {
    /// What a client follows lives through a model that extends the server's, and ends with another one.
    struct ModelChangesAgainstServerTests {
        private static let first: ModelDraft = {
            var task = EntityDraft(name: "Task")
            task.attributes = [
                AttributeDraft(name: "title", type: .string), AttributeDraft(name: "done", type: .boolean),
            ]
            task.attributes[1].defaultValue = .boolean(false)
            return ModelDraft(entities: [task])
        }()

        /// Also with a date, with people, and with chores, which are tasks.
        private static let extended: ModelDraft = {
            var draft = Self.first
            var due = AttributeDraft(name: "due", type: .date)
            due.isOptional = true
            draft.entities[0].attributes.insert(due, at: 0)
            var person = EntityDraft(name: "Person")
            person.attributes = [AttributeDraft(name: "name", type: .string)]
            var chore = EntityDraft(name: "Chore")
            chore.parent = "Task"
            chore.attributes = [AttributeDraft(name: "room", type: .string)]
            draft.entities.insert(person, at: 0)
            draft.entities.append(chore)
            return draft
        }()

        /// The mark of what is done has another name.
        private static let renamed: ModelDraft = {
            var draft = Self.extended
            for index in draft.entities[1].attributes.indices where draft.entities[1].attributes[index].name == "done" {
                draft.entities[1].attributes[index].name = "finished"
                draft.entities[1].attributes[index].renamedFrom = "done"
            }
            return draft
        }()

        private let directory = TemporaryDirectory(inMemory: true)

        private func withServer(
            _ draft: ModelDraft,
            port: Int,
            _ body: (Int) async throws -> Void
        ) async throws {
            let model = try draft.compile()
            try await NestServerTestSupport.withServer { configuration in
                configuration.port = port
                configuration.store.location = .file("\(self.directory.path)/nest.sqlite")
                configuration.store.model = model
            } _: { port, _ in
                try await body(port)
            }
        }

        /// Reads the changes of a list.
        private struct Follower {
            var rows: RowsSubscription<FetchedRow>.AsyncIterator

            /// Returns the titles when there are `count` rows, and the resets and snapshots on the way.
            mutating func titles(_ count: Int) async throws -> (titles: [String], replacements: Int) {
                var replacements = 0
                while let change = try await self.rows.next() {
                    switch change.change {
                    case .snapshot, .reset: replacements += 1
                    default: break
                    }
                    if change.rows.count == count { return (change.rows.map { $0.text("title") }, replacements) }
                }
                return ([], replacements)
            }
        }

        private static func add(
            _ entity: String,
            _ port: Int,
            _ values: KeyValuePairs<String, any MutationValueConvertible>
        ) async throws {
            try await NestClient.withClient(Fixtures.configuration(port)) { client in
                let context = ObjectContext(client)
                try await context.insert(try await client.entity(entity), values)
                try await context.save()
            }
        }

        private static func first<Element>(_ stream: AsyncStream<Element>) async -> Element? {
            for await element in stream { return element }
            return nil
        }

        /// Without an entity below an old one, which a running server does not add.
        private static let grown: ModelDraft = {
            var draft = Self.extended
            draft.entities.removeLast()
            return draft
        }()

        /// The lists of a client go on, on the same connection, and new requests name what is new.
        @Test func aRunningServerGetsAModelThatExtendsItsOwn() async throws {
            try await self.withServer(Self.first, port: 0) { port in
                try await Self.add("Task", port, ["title": "one"])
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let all = ObjectFetchRequest(entity: try await client.entity("Task").number)
                    let list = try await client.entity("Task").request(sort: "title")
                    try await client.withFetchedResults(list) { results in
                        var follower = Follower(rows: results.makeAsyncIterator())
                        #expect(try await follower.titles(1).titles == ["one"])
                        try await client.withFetchedResults(all) { whole in
                            var elements = whole.makeAsyncIterator()
                            _ = try await elements.next()
                            #expect(whole.state.projection.count == 2)
                            let applied = try await client.apply(try Self.grown.compile())
                            #expect(applied.outcome == .applied && applied.changes.count == 2)
                            #expect(try await client.model().hash == applied.modelHash)
                            try await Self.add("Task", port, ["title": "two", "due": AttributeValue.date(5)])
                            let seen = try await follower.titles(2)
                            #expect(seen.titles == ["one", "two"] && seen.replacements == 0)
                            // The list of all properties keeps those that it had.
                            while whole.state.total < 2 {
                                let change = try await elements.next()
                                if case .disconnected? = change { Issue.record("the connection was lost") }
                                try #require(change != nil)
                            }
                            #expect(whole.state.projection.count == 2)
                        }
                        let due = try await client.entity("Task").request(sort: "title", properties: ["title", "due"])
                        #expect(try await client.fetch(due).map { $0["due"] != .null } == [false, true])
                        try await client.withFetchedResults(due) { new in
                            var follower = Follower(rows: new.makeAsyncIterator())
                            let titles = try await follower.titles(2).titles
                            #expect(titles == ["one", "two"])
                        }
                        try await Self.add("Person", port, ["name": "Ann"])
                        #expect(try await client.fetch(try await client.entity("Person").request()).count == 1)
                    }
                }
            }
        }

        @Test func subscriptionsLiveThroughAnExtension() async throws {
            let (starts, start) = AsyncStream.makeStream(of: Int.self)
            let (asked, ask) = AsyncStream.makeStream(of: ModelDraft?.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                // The servers, one after the other on one port.
                group.addTask {
                    var port = 0
                    defer { start.finish() }
                    var draft: ModelDraft? = Self.first
                    while let model = draft {
                        do {
                            try await self.withServer(model, port: port) { listening in
                                port = listening
                                start.yield(listening)
                                draft = await Self.first(asked) ?? nil
                            }
                        } catch {
                            Issue.record("the server on port \(port): \(error)")
                            throw error
                        }
                    }
                }
                let port = try #require(await Self.first(starts))
                try await Self.add("Task", port, ["title": "one"])
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let list = try await client.entity("Task").request(sort: "title")
                    try await client.withFetchedResults(list) { results in
                        var follower = Follower(rows: results.makeAsyncIterator())
                        #expect(try await follower.titles(1).titles == ["one"])

                        ask.yield(Self.extended)
                        _ = try #require(await Self.first(starts))
                        try await Self.add("Task", port, ["title": "two", "due": AttributeValue.date(5)])
                        var seen = try await follower.titles(2)
                        #expect(seen.titles == ["one", "two"] && seen.replacements == 0)
                        // A kind of task that the list's model does not have.
                        try await Self.add("Chore", port, ["title": "three", "room": "kitchen"])
                        seen = try await follower.titles(3)
                        #expect(seen.titles == ["one", "three", "two"] && seen.replacements == 0)

                        // What was made for the old model is valid, and names of the new one are there.
                        #expect(try await client.fetch(list).map { $0.text("title") } == seen.titles)
                        #expect(try await client.fetch(list).first?.names == ["title", "done"])
                        let dated = try await client.entity("Task").request(where: "due != nil")
                        #expect(try await client.fetch(dated).map { $0.text("title") } == ["two"])
                        try await results.change(to: dated)
                        #expect(try await follower.titles(1).titles == ["two"])
                        try await results.change(to: list)
                        #expect(try await follower.titles(3).titles == seen.titles)

                        ask.yield(Self.renamed)
                        _ = try #require(await Self.first(starts))
                        await #expect { _ = try await follower.titles(4) } throws: {
                            ($0 as? NestError)?.code == .schemaChanged
                        }
                    }
                    await #expect { _ = try await client.fetch(list) } throws: {
                        ($0 as? NestError)?.code == .schemaChanged
                    }
                    let now = try await client.entity("Task").request(sort: "title", properties: ["title"])
                    #expect(try await client.fetch(now).count == 3)
                }
                ask.yield(nil)
                try await group.waitForAll()
            }
        }
    }
}
