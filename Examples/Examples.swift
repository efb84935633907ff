import NestClient

#if canImport(Glibc)
import Glibc
#endif

/// `nestexamples NAME` runs the Swift code of an example's page, on the server that `NEST_SERVER` names.
@main
enum Examples {
    private static let all: [(name: String, run: @MainActor (NestClient) async throws -> Void)] = [
        ("nested-lists", NestedLists.run), ("number-facts", NumberFacts.run), ("phone-book", PhoneBook.run),
        ("done", Done.run), ("client-page", ClientPage.run),
    ]

    @MainActor static func main() async {
        guard CommandLine.arguments.count == 2,
            let example = Self.all.first(where: { $0.name == CommandLine.arguments[1] }),
            let configuration = Self.configuration
        else {
            print("usage: [NEST_SERVER=HOST:PORT] nestexamples \(Self.all.map(\.name).joined(separator: "|"))")
            exit(64)
        }
        do {
            try await NestClient.withClient(configuration, example.run)
        } catch {
            print("\(error)")
            exit(1)
        }
    }

    private static var configuration: ClientConfiguration? {
        let server = getenv("NEST_SERVER").map { String(cString: $0) } ?? "127.0.0.1:7000"
        let parts = server.split(separator: ":")
        guard parts.count == 2, let port = Int(parts[1]) else { return nil }
        return ClientConfiguration(host: String(parts[0]), port: port, clientName: "nestexamples")
    }
}

extension RowsSubscription.AsyncIterator {
    /// Returns the rows after the next change. The first change is the first state.
    mutating func rows() async throws -> FetchedRows<Value> {
        guard let change = try await self.next() else { preconditionFailure("a subscription throws at its end") }
        return change.rows
    }

    /// Returns the events of the next change that has some.
    mutating func events() async throws -> [RowsEvent<Value>] {
        while let change = try await self.next() {
            if !change.events.isEmpty { return change.events }
        }
        return []
    }
}
