import NestClient
import NestModel
import NestTestSupport
import Testing

extension ProcessTests {
    /// The number facts example: users and their posts, with a model as Xcode saves it.
    @MainActor @Suite struct NumberFactsExample {
        private let example: Example

        init() async throws {
            self.example = try await Example("number-facts")
        }

        @Test func usersAndPostsAreListed() async throws {
            let shown = try await self.example.user.output("model", "show")
            #expect(shown.contains("posts  -->> Post    optional, inverse user, cascade"), "\(shown)")
            let users = try await self.example.json("fetch", "--entity", "User", "--sort", "name")
            #expect(
                users == [
                    ["id": 1, "name": "Ada", "dob": "1985-12-10T00:00:00.000000Z"],
                    ["id": 2, "name": "Leo", "dob": "1992-02-29T00:00:00.000000Z"],
                ]
            )
            let posts = try await self.example.json("fetch", "--entity", "Post", "--sort", "number")
            #expect(
                try posts.map { try $0["title"] } == [
                    "Below freezing", "Half of a half", "Bits in a byte", "Seconds of a day",
                ]
            )
            #expect(try posts[0]["number"] == .double(-273.15))
            let related = try await self.example.json("fetch", "--of", "1", "--relationship", "posts")
            let matching = try await self.example.json("fetch", "--entity", "Post", "--where", "user == 1")
            let named = try await self.example.json("fetch", "--entity", "Post", "--where", "user.name == 'Ada'")
            #expect(related.count == 2 && matching == related && named == related)
        }

        @Test func aUserAndPostsAreSavedTogether() async throws {
            try await self.example.withClient { client in
                let (user, post) = (try await client.entity("User"), try await client.entity("Post"))
                let context = ObjectContext(client)
                let mia = try context.insert(user, ["name": "Mia"])
                try context.insert(post, ["title": "Two", "number": 2, "user": mia])
                try context.insert(post, ["title": "A third", "number": 1.0 / 3, "user": mia])
                let receipt = try #require(try await context.save())
                #expect(receipt.insertedCount == 3)
                let id = try #require(context.objectID(of: mia))
                let hers = try post.request(where: "user == \(id)", sort: "title", properties: ["number"])
                let rows = try await client.fetch(hers.request, atLeast: receipt.revision).rows
                #expect(rows.map { hers.named($0)["number"] } == [.double(1.0 / 3), .double(2)])

                try context.insert(post, ["title": "Zero", "number": 0])
                let error = try await #require(throws: NestError.self) { try await context.save() }
                #expect(error.message == "Post.user is required")
            }
        }

        @Test func rowsShowTheCurrentNameOfTheirUser() async throws {
            try await self.example.withClient { client in
                let (user, post) = (try await client.entity("User"), try await client.entity("Post"))
                let request = try post.request(sort: "title", properties: ["user.name", "title"])
                let screen = ExampleScreen(request, title: "user.name")
                try await screen.run(client) { controller in
                    let lines = controller.fetchedObjects?.map {
                        "\(request.named($0).text("user.name")) - \(request.named($0).text("title"))"
                    }
                    #expect(
                        lines == [
                            "Leo - Below freezing", "Ada - Bits in a byte", "Leo - Half of a half",
                            "Ada - Seconds of a day",
                        ]
                    )
                    let context = ObjectContext(client)
                    try context.set(.object(ObjectID(1)), of: user, ["name": "Augusta"])
                    try await screen.wait(for: try await context.save(), in: controller)
                    #expect(
                        screen.takeLog() == [
                            "update Augusta [0, 1] to [0, 1]", "update Augusta [0, 3] to [0, 3]",
                        ]
                    )
                    // A post changes its user.
                    try context.set(.object(ObjectID(3)), of: post, ["user": ObjectID(2)])
                    try await screen.wait(for: try await context.save(), in: controller)
                    #expect(screen.takeLog() == ["update Leo [0, 1] to [0, 1]"])
                }
            }
        }

        @Test func deletingAUserDeletesItsPostsAndUndoRestoresThem() async throws {
            try await self.example.withClient { client in
                let (user, post) = (try await client.entity("User"), try await client.entity("Post"))
                let posts = ExampleScreen(try post.request(sort: "title"), title: "title")
                let users = try user.request(sort: "name", properties: ["name", "posts.@count"])
                try await posts.run(client) { controller in
                    let context = ObjectContext(client)
                    context.delete(.object(ObjectID(1)))
                    try await posts.wait(for: try await context.save(), in: controller)
                    #expect(posts.takeLog() == ["delete Bits in a byte [0, 1]", "delete Seconds of a day [0, 3]"])
                    let undone = try await client.undo()
                    #expect(undone.name == "delete \"Ada\" and 2 posts inside")
                    try await posts.wait(for: undone, in: controller)
                    #expect(posts.takeLog() == ["insert Bits in a byte [0, 1]", "insert Seconds of a day [0, 3]"])
                    // Deleting a post keeps its user.
                    context.delete(.object(ObjectID(3)))
                    let receipt = try #require(try await context.save())
                    let rows = try await client.fetch(users.request, atLeast: receipt.revision).rows
                    #expect(
                        rows.map { "\(users.named($0).text("name")) \(users.named($0).text("posts.@count"))" } == [
                            "Ada 1", "Leo 2",
                        ]
                    )
                }
            }
        }
    }
}
