import ArgumentParser
import NestClient
import NestDocuments
import NestModel

/// Completes names that only the server or the user's files know. Without a server, there is nothing to complete, and
/// no message: the user is typing.
enum ModelCompletion {
    private static let patience = Duration.seconds(1)

    static let contexts = CompletionKind.custom { _, _, prefix in
        let names = (try? ContextFile.readIfAny())?.contexts.keys.sorted() ?? []
        return names.filter { $0.hasPrefix(prefix) }
    }

    /// The nodes of a cluster.
    static let nodes = CompletionKind.custom { words, _, _ in
        await Self.ask(words) { client in try await client.cluster()?.nodes.map(\.name) ?? [] }
    }

    static let entities = CompletionKind.custom { words, _, _ in
        await Self.ask(words) { client in try await client.model().entities.map(\.name) }
    }

    /// The requests that the model names.
    static let requests = CompletionKind.custom { words, _, _ in
        await Self.ask(words) { client in try await client.model().requests.map(\.name) }
    }

    /// The entities that form a hierarchy.
    static let hierarchies = CompletionKind.custom { words, _, _ in
        await Self.ask(words) { client in OutlineEntity.names(in: try await client.model()) }
    }

    /// One property, or several between commas, each with '-' before it.
    static let properties = CompletionKind.custom { words, _, prefix in
        let typed = prefix[
            ..<(prefix.lastIndex { $0 == "," || $0 == "-" }.map(prefix.index(after:)) ?? prefix.startIndex)
        ]
        return await Self.ask(words) { client in
            let model = try await client.model()
            return try await Self.entities(words, client).flatMap { entity in
                entity.attributes.map { "\(typed)\($0.name)" }
                    + entity.relationships.flatMap { relationship in
                        Self.paths(relationship, model, isFunction: prefix.contains("@")).map { "\(typed)\($0)" }
                    }
            }
        }
    }

    /// Returns the paths that begin with a relationship. `isFunction`: the user has typed an `@`, so the functions of
    /// every attribute come too.
    static func paths(
        _ relationship: RelationshipDescription,
        _ model: ManagedObjectModel,
        isFunction: Bool
    ) -> [String] {
        guard relationship.isToMany else { return [relationship.name] }
        let count = "\(relationship.name).@count"
        guard isFunction, let destination = model.entity(relationship.destination) else { return [count] }
        return [count]
            + AggregateFunction.allCases.flatMap { function in
                destination.attributes.filter { function.type(of: $0.type) != nil }.map {
                    "\(relationship.name).@\(function.name).\($0.name)"
                }
            }
    }

    static let relationships = CompletionKind.custom { words, _, _ in
        await Self.ask(words) { client in
            try await Self.owners(words, client).flatMap(\.relationships).filter(\.isToMany).map(\.name)
        }
    }

    /// `name=` of each property.
    static let assignments = CompletionKind.custom { words, _, _ in
        await Self.ask(words) { client in
            try await Self.entities(words, client).flatMap { entity in
                (entity.attributes.map(\.name) + entity.relationships.map(\.name)).map { "\($0)=" }
            }
        }
    }

    // MARK: The words so far

    /// Returns the value of an option among the words.
    private static func value(of name: String, _ words: [String]) -> String? {
        if let index = words.firstIndex(of: name), index + 1 < words.count { return Self.unquoted(words[index + 1]) }
        return words.first { $0.hasPrefix("\(name)=") }.map { Self.unquoted(String($0.dropFirst(name.count + 1))) }
    }

    /// The words that are no options of every command, after the name of the program.
    private static func positional(_ words: [String]) -> [String] {
        Array(Nestc.droppingGlobalOptions(Nestc.movingGlobalOptions(Array(words.dropFirst()))[...])).map(Self.unquoted)
    }

    private static func unquoted(_ word: String) -> String { word.filter { !"\"'\\".contains($0) } }

    /// Returns the entities whose properties may come: that of the request or of the changed object, or all.
    private static func entities(_ words: [String], _ client: NestClient) async throws -> [EntityDescription] {
        let model = try await client.model()
        if let name = Self.value(of: "--entity", words) { return model.entity(named: name).map { [$0] } ?? [] }
        if Self.value(of: "--of", words) ?? Self.value(of: "--parent", words) != nil {
            let ways = try await Self.owners(words, client).flatMap(\.relationships).filter(\.isToMany)
            let name = Self.value(of: "--relationship", words)
            return ways.filter { name == nil || $0.name == name }.compactMap { model.entity($0.destination) }
        }
        let words = Self.positional(words)
        guard words.count > 1 else { return model.entities }
        switch words[0] {
        case "insert", "find-or-create": return model.entity(named: words[1]).map { [$0] } ?? []
        case "set": return try await Self.entity(of: words[1], model, client)
        default: return model.entities
        }
    }

    /// Returns the entities whose to-many relationships may come.
    private static func owners(_ words: [String], _ client: NestClient) async throws -> [EntityDescription] {
        let model = try await client.model()
        if let id = Self.value(of: "--of", words) ?? Self.value(of: "--parent", words) {
            return try await Self.entity(of: id, model, client)
        }
        if let name = Self.value(of: "--entity", words) { return model.entity(named: name).map { [$0] } ?? [] }
        let words = Self.positional(words)
        guard words.count > 1, words[0] == "relate" || words[0] == "unrelate" else { return model.entities }
        return try await Self.entity(of: words[1], model, client)
    }

    private static func entity(
        of id: String,
        _ model: ManagedObjectModel,
        _ client: NestClient
    ) async throws -> [EntityDescription] {
        guard let id = IDArgument(argument: id)?.id else { return model.entities }
        return [try model.entity(of: try await client.object(id))]
    }

    /// Asks the server of these words. Returns nothing if it does not answer in time.
    private static func ask(_ words: [String], _ names: (NestClient) async throws -> [String]) async -> [String] {
        do {
            let configuration = try Self.configuration(words)
            let found = try await NestClient.withClient(configuration) { try await names($0) }
            var known: Set<String> = []
            return found.filter { known.insert($0).inserted }
        } catch {
            return []
        }
    }

    /// The configuration of the options among the words, with a short patience.
    private static func configuration(_ words: [String]) throws -> ClientConfiguration {
        var arguments: [String] = []
        for name in ConnectOptions.valueOptions {
            if let value = Self.value(of: name, words) { arguments += [name, value] }
        }
        arguments += ConnectOptions.flags.filter(words.contains)
        var global = try GlobalOptions.parse(arguments)
        // Without a session of the user, one for this question only: completion creates no file.
        if environment("NEST_SESSION") == nil, try global.sessionFile().file.read() == nil {
            global.session = SessionFile.newSession().hex
        }
        var configuration = try global.configuration()
        configuration.connectTimeout = Self.patience
        configuration.requestTimeout = Self.patience
        return configuration
    }
}
