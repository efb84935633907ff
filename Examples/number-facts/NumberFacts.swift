import Foundation
import NestClient

/// Users and their posts; a row of a post shows its user's name.
@MainActor enum NumberFacts {
    static func run(_ client: NestClient) async throws {
        // A user and her post, saved together. Setting the post's user also adds the post to the user's posts.
        let context = try await client.context()
        let mia = try context.insert(Facts.User.self, .name("Mia"), .dob(Date(timeIntervalSince1970: 0)))
        try context.insert(Facts.Post.self, .title("A googol's zeros"), .number(100), .user(mia))
        try await context.save()

        // All posts. `user.name` is a live column like any other; rows need no separate fetch.
        let posts = Facts.Post.all.sorted(by: \.title).columns(\.user.name, \.title)
        try await client.withFetchedResults(posts) { results in
            var changes = results.makeAsyncIterator()
            for row in try await changes.rows() { print(Self.line(row)) }

            try context.set(mia, .name("Mia Wolf"))
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

    private static func line(_ row: SelectedRow<String, String>) -> String { "\(row.values.0) - \(row.values.1)" }
}
