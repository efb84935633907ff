import Foundation
import NestClient

/// Users and their posts; a row of a post shows its user's name.
@MainActor enum NumberFacts {
    static func run(_ client: NestClient) async throws {
        let user = try await client.entity("User")
        let post = try await client.entity("Post")

        // A user and her post, saved together. Setting the post's user also adds the post to the user's posts.
        let context = ObjectContext(client)
        let mia = try context.insert(user, ["name": "Mia", "dob": Date(timeIntervalSince1970: 0)])
        try context.insert(post, ["title": "A googol's zeros", "number": 100, "user": mia])
        try await context.save()

        // All posts. `user.name` is a live column like any other; rows need no separate fetch.
        let posts = try post.request(sort: "title", properties: ["user.name", "title"])
        try await client.withFetchedResults(posts) { results in
            var changes = results.makeAsyncIterator()
            for row in try await changes.rows() { print(Self.line(row)) }

            try context.set(mia, of: user, ["name": "Mia Wolf"])
            try await context.save()
            for case .update(let row, _, let path) in try await changes.events() {
                print("row \(path.row) is now: \(Self.line(row))")
            }

            // Deleting her also deletes her posts: that is the delete rule of `posts`.
            context.delete(mia)
            try await context.save()
            for case .delete(let row, let path) in try await changes.events() {
                print("row \(path.row) is gone: \(Self.line(row))")
            }
        }
    }

    private static func line(_ row: FetchedRow) -> String {
        "\(row.text("user.name")) - \(row.text("title"))"
    }
}
