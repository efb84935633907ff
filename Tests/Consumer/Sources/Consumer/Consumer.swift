// Foundation and NestClient are imported together, and no name needs a module prefix.
import Foundation
import NestClient

/// A to-do program outside this repository. It uses every public name that Foundation or SwiftUI may also declare.
@main
enum Consumer {
    struct Note: Decodable, RowDecodable, Identifiable {
        var id: ObjectID
        var title: String
        var created: Date?
    }

    static func main() async throws {
        try await NestClient.withClient(ClientConfiguration(host: "127.0.0.1", port: 7000)) { client in
            let model = try await client.model()
            guard let entity = model.entity(named: "Node") else { return }
            var request = ObjectFetchRequest(entity: entity.number)
            request.predicate = try FetchPredicate("title BEGINSWITH[c] 'a'", of: entity, in: model)
            request.sort = [OrderingTerm(entity.attributes[0].number)]
            let receipt = try await client.transaction(WriteTransaction(mutations: []))
            print("at revision \(receipt.revision), \(Date.now.formatted(.iso8601))")
            try await client.withFetchedResults(request) { (results: ResultsSubscription) in
                for try await _ in results {
                    let first = RowPosition(0, 0)
                    let sections: [ResultsSection] = results.state.sections
                    print("\(sections.count) sections; the first row is at \(first)")
                    return
                }
            }
            let named = try await client.entity("Node").request(properties: ["title", "created"])
            for note in try await client.fetch(named, as: Note.self) { print(note.title, note.created ?? Date.now) }
            // The types of notes.nest.json.
            for page in try await client.fetch(Page.where(\.title == "Home")) { print(page.title, page.written) }
            // The types of Facts.xcdatamodeld: those of its current version, which alone has `number`.
            let facts = Post.where(\.number > 10 && \.user.name == "Mia").columns(
                \.title,
                \.number,
                \.user.dob.optional
            )
            for row in try await client.fetch(facts) {
                let (title, number, born) = row.values
                print(title, number, born ?? Date.now)
            }
            try await client.insert(Post.self, .title("Dozen"), .number(12), name: "add a fact")
        }
    }
}
