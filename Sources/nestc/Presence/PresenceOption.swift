import ArgumentParser
import NestClient
import NestDocuments
import NestModel

/// The option about presence, and where it is.
struct PresenceOption: ParsableArguments {
    @Flag(
        inversion: .prefixedNo,
        help: """
            Show who else is here. A screen does it, and shows others the row of its cursor or the followed row; \
            --no-presence: neither. Lines and JSON show it with --presence.
            """
    )
    var presence: Bool?

    /// Returns the scope that clients of an outline share: the top of the hierarchy, or the root of the token; without
    /// a hierarchy the object whose list it is. `nil`: there is none.
    static func scope(_ resolved: RequestOptions.Resolved, _ client: NestClient) async -> ObjectID? {
        await StartObject.list(in: resolved.model, client)?.object ?? resolved.request.source?.object
    }

    /// `isScreen`: whether it is shown without a word.
    func presence(
        _ resolved: RequestOptions.Resolved,
        _ client: NestClient,
        isScreen: Bool
    ) async -> Presence? {
        guard self.presence ?? isScreen, let scope = await Self.scope(resolved, client) else { return nil }
        return client.presence(of: scope)
    }
}

extension Presence {
    /// Passes on who else is here, until the task is cancelled. Ends without an error if the server is too old, or the
    /// scope is gone: the list goes on.
    func forEach(_ body: (ShownPeople) async -> Void) async {
        do { for try await present in self { await body(ShownPeople(present)) } } catch { await body(ShownPeople()) }
    }
}

/// Prints who is present, beside a list that another task prints.
struct PresencePrinter {
    private var output = Output()
    private let isJSON: Bool
    private var printed: ShownPeople?

    init(isJSON: Bool) {
        self.isJSON = isJSON
    }

    /// Runs `body`, and prints meanwhile who is present; nothing without a presence.
    static func print(_ presence: Presence?, isJSON: Bool, _ body: () async throws -> Void) async throws {
        guard let presence else { return try await body() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var printer = PresencePrinter(isJSON: isJSON)
                await printer.follow(presence)
            }
            defer { group.cancelAll() }
            try await body()
        }
    }

    /// Prints each state until the task is cancelled. Ends without an error if the server is too old, or the scope is
    /// gone: the list goes on.
    mutating func follow(_ presence: Presence) async {
        do {
            for try await present in presence {
                if self.isJSON {
                    try self.output.line(Self.event(present, in: presence.scope))
                } else {
                    let people = ShownPeople(present)
                    // No others are no news at the beginning, and what has not changed is none later.
                    guard people != self.printed, self.printed != nil || !people.isEmpty else { continue }
                    self.printed = people
                    try self.output.line(self.output.dim(people.sentence))
                }
                try self.output.flush()
            }
        } catch {}
    }

    /// The event `presence` of `subscribe --json`.
    static func event(_ present: PresentClients, in scope: ObjectID) -> JSONWriter {
        .object { json in
            json.field("event", "presence")
            json.field("scope", scope.rawValue)
            json.field("live", present.isLive)
            json.key("people")
            json.array(present.clients) { json, client in
                json.object { json in
                    json.field("number", client.number)
                    json.field("session", client.sessionNumber)
                    UserText.write(client.user, into: &json)
                    json.field("self", client.isSelf)
                    Self.write(client, into: &json)
                }
            }
        }
    }

    private static func write(_ client: PresentClient, into json: inout JSONWriter) {
        guard let place = client.place else {
            return json.field("bytes", Base64.text(client.bytes))
        }
        if let object = place.object { json.field("object", object.rawValue) }
        if let property = place.property { json.field("property", Int(property.rawValue)) }
        guard let selection = place.selection else { return }
        json.field("anchor", selection.anchor)
        json.field("head", selection.head)
    }
}
