import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// The nested lists example, with the built-in model.
    @MainActor @Suite struct NestedListsExample {
        private let example: Example

        init() async throws {
            self.example = try await Example("nested-lists")
        }

        private static func children(of id: ObjectID, _ item: NamedEntity) throws -> NamedRequest {
            try item.request(where: "parent == \(id)", sort: "order", properties: ["title", "children.@count"])
        }

        private static func placement(_ item: NamedEntity, in owner: ObjectID, _ place: Place) throws -> Placement {
            Placement(relationship: try item.property("parent"), owner: .object(owner), place: place)
        }

        @Test func aListIsOpenedThroughItsRow() async throws {
            try await self.example.withClient { client in
                let item = try await client.entity("Item")
                let root = try await client.object(ObjectID(1))
                #expect(root.entity == item.number)
                // Walk from the root down to the last list that is not empty.
                var (list, titles) = (root.id, [String]())
                while true {
                    let children = try Self.children(of: list, item)
                    let rows = try await client.fetch(children.request).rows
                    guard let row = rows.first(where: { children.named($0)["children.@count"] != .integer(0) }) else {
                        break
                    }
                    titles.append(children.named(row).text("title"))
                    list = row.id
                }
                #expect(titles == ["Groceries", "Fruit"])
                // A row shows the current number of its children.
                let screen = ExampleScreen(try Self.children(of: ObjectID(2), item), title: "children.@count")
                try await screen.run(client) { controller in
                    let context = ObjectContext(client)
                    try context.insert(item, ["title": "Plums", "parent": list])
                    try await screen.wait(for: try await context.save(), in: controller)
                    #expect(screen.takeLog() == ["update 3 [0, 0] to [0, 0]"])
                }
            }
        }

        @Test func aScreenGetsEveryChange() async throws {
            try await self.example.withClient { client in
                let item = try await client.entity("Item")
                let groceries = ObjectID(2)
                let screen = ExampleScreen(try Self.children(of: groceries, item), title: "title")
                try await screen.run(client) { controller in
                    #expect(screen.titles(controller) == ["Fruit", "Bread"])
                    let context = ObjectContext(client)
                    @MainActor func save() async throws -> [String] {
                        try await screen.wait(for: try await context.save(), in: controller)
                        return screen.takeLog()
                    }
                    // Insert at the end.
                    let cheese = context.insert(
                        item.number,
                        try item.values(["title": "Cheese"]),
                        at: [try Self.placement(item, in: groceries, .last)]
                    )
                    #expect(try await save() == ["insert Cheese [0, 2]"])
                    context.move(cheese, to: try Self.placement(item, in: groceries, .first))
                    #expect(try await save() == ["move Cheese [0, 2] to [0, 0]"])
                    context.move(cheese, to: try Self.placement(item, in: groceries, .at(1)))
                    #expect(try await save() == ["move Cheese [0, 0] to [0, 1]"])
                    try context.set(cheese, of: item, ["title": "Goat cheese"])
                    #expect(try await save() == ["update Goat cheese [0, 1] to [0, 1]"])
                    context.delete(.object(ObjectID(3)))
                    #expect(try await save() == ["delete Fruit [0, 0]"])
                    #expect(screen.titles(controller) == ["Goat cheese", "Bread"])
                    // Move the row to another list.
                    context.move(cheese, to: try Self.placement(item, in: ObjectID(8), .first))
                    #expect(try await save() == ["delete Goat cheese [0, 0]"])
                }
            }
        }

        @Test func aPausedListResumesWithoutReloading() async throws {
            try await self.example.withClient { client in
                let item = try await client.entity("Item")
                let screen = ExampleScreen(try Self.children(of: ObjectID(2), item), title: "title")
                let user = self.example.user
                try await screen.run(client) { controller in
                    // The user opens another list: pause this one.
                    await controller.pause()
                    try await screen.wait(for: .paused, of: controller)
                    try await user.output("add", "--parent", "2", "Cheese", "Butter", "--quiet")
                    try await user.output("rm", "12")
                    try await user.output("mv", "6", "--first")
                    try await user.output("set", "3", "title=Vegetables")
                    #expect(screen.takeLog() == [] && screen.titles(controller) == ["Fruit", "Bread"])
                    // Back again: the list gets the net difference and is not replaced.
                    await controller.resume()
                    try await screen.wait(for: Revision(5), in: controller)
                    #expect(
                        screen.takeLog() == [
                            "move Bread [0, 1] to [0, 0]", "insert Butter [0, 2]",
                            "update Vegetables [0, 0] to [0, 1]",
                        ]
                    )
                    // The list is live again.
                    try await user.output("rm", "13")
                    try await screen.wait(for: Revision(6), in: controller)
                    #expect(screen.takeLog() == ["delete Butter [0, 2]"])
                    #expect(controller.state == .live)
                }
            }
        }

        @Test func aDisconnectedListGetsTheNetDifference() async throws {
            try await self.example.withClient { client in
                let item = try await client.entity("Item")
                let list = try item.request(where: "parent == 2", sort: "order", properties: ["title"])
                let screen = ExampleScreen(list, title: "title")
                try await screen.run(client) { controller in
                    // The server stops, and another server on the same store writes.
                    try await self.example.server.terminate()
                    let elsewhere = ServerProcess(storeOf: self.example.server)
                    try await elsewhere.start()
                    let user = await CommandLineUser(elsewhere)
                    try await user.output("add", "--parent", "2", "Cheese", "Butter", "--quiet")
                    try await user.output("rm", "12")
                    try await user.output("mv", "6", "--first")
                    try await user.output("set", "3", "title=Vegetables")
                    try await elsewhere.terminate()
                    try await self.example.server.start()
                    try await screen.wait(for: Revision(5), in: controller)
                    // Cheese does not appear, and the list is not replaced.
                    #expect(
                        screen.takeLog() == [
                            "move Bread [0, 1] to [0, 0]", "insert Butter [0, 2]",
                            "update Vegetables [0, 0] to [0, 1]",
                        ]
                    )
                    #expect(screen.titles(controller) == ["Bread", "Vegetables", "Butter"])
                }
            }
        }

        @Test func siblingsAreNumberedWithoutGaps() async throws {
            // The root contains objects 2 and 7; new objects get the ids 12, 13, …
            func order() async throws -> [Int] {
                try await self.example.json("ls").map { try $0["id"].int }
            }
            try await self.example.user.output("add", "a", "b", "c", "--quiet")
            #expect(try await order() == [2, 7, 12, 13, 14])
            try await self.example.user.output("mv", "14", "--at", "1")
            #expect(try await order() == [2, 14, 7, 12, 13])
            try await self.example.user.output("rm", "7", "12")
            #expect(try await order() == [2, 14, 13])
            try await self.example.user.output("add", "d", "--at", "3")
            #expect(try await order() == [2, 14, 13, 15])
            // An index beyond the end is refused.
            let beyond = try await self.example.user.run("add", "e", "--at", "5")
            #expect(beyond.status == 1 && beyond.errors.contains("[INDEX_OUT_OF_RANGE]"), "\(beyond.report)")
            try await self.example.user.output("mv", "15", "2", "--first")
            #expect(try await order() == [15, 2, 14, 13])
        }

        @Test func deletingAListDeletesItsContentsAndUndoRestoresThem() async throws {
            let before = try await self.example.user.output("tree")
            try await self.example.withClient { client in
                let context = ObjectContext(client)
                context.delete(.object(ObjectID(2)))
                try await context.save()
                let gone = try await #require(throws: NestError.self) { try await client.object(ObjectID(5)) }
                #expect(gone.code == .notFound)
                context.delete(.object(ObjectID(8)))
                try await context.save(name: "Nothing to pack")
                let left = try await self.example.user.output("tree")
                #expect(left == "Trip to the lake  #7\n  Buy tickets  #11\n")
                // The names are the titles of the undo and redo buttons.
                #expect(try await client.undo().name == "Nothing to pack")
                #expect(try await client.redo().name == "Nothing to pack")
                #expect(try await client.undo().name == "Nothing to pack")
                #expect(try await client.undo().name == "delete \"Groceries\" and 4 items inside")
                #expect(try await self.example.user.output("tree") == before)
                let nothing = try await #require(throws: NestError.self) { try await client.undo() }
                #expect(nothing.code == .nothingToUndo)
                #expect(try await client.redo().name == "delete \"Groceries\" and 4 items inside")
                #expect(try await client.redo().name == "Nothing to pack")
                #expect(try await self.example.user.output("tree") == left)
            }
        }

        @Test func aListCannotBeMovedIntoItself() async throws {
            let result = try await self.example.user.run("mv", "7", "--parent", "9")
            #expect(result.status == 1 && result.errors.contains("[CYCLE]"), "\(result.report)")
            let root = try await self.example.user.run("rm", "1")
            #expect(root.status == 1 && root.errors.contains("[ROOT_OBJECT]"), "\(root.report)")
        }
    }
}
