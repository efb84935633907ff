import ArgumentParser
import NestClient
import NestModel

/// The options that make a subscription an outline.
struct OutlineOptions: ParsableArguments {
    @Flag(help: "Show an outline: the children of the object, and below each unfolded row its own children.")
    var outline = false

    @Option(help: ArgumentHelp("Unfold so many levels of the outline at the start.", valueName: "n"))
    var depth: Int?

    @Option(
        help: ArgumentHelp(
            "Which rows of the outline are unfolded: none, all, or those whose boolean attribute is true.",
            valueName: "none|all|attribute"
        ),
        completion: .list(["none", "all"])
    )
    var expand: String?

    func validate() throws {
        if let depth, depth < 1 { throw ValidationError("--depth must be 1 or more") }
        if !self.outline, self.depth != nil || self.expand != nil {
            throw ValidationError("--depth and --expand need --outline")
        }
        if self.depth != nil, self.expand != nil, self.expand != "none" {
            throw ValidationError("--depth says which rows are unfolded: use --depth or --expand, not both")
        }
    }

    /// Makes the request an outline with these options.
    func apply(to resolved: inout RequestOptions.Resolved, _ client: NestClient) async throws {
        guard let source = resolved.request.source else {
            throw CommandFailure(.usage, "an outline is below an object: nestc subscribe --outline ID")
        }
        var outline = FetchOutline(try self.expansion(resolved.entity))
        if let depth {
            outline.exceptions = try await Self.objects(below: source, levels: depth, client)
        }
        resolved.request.outline = outline
        if !resolved.request.projection.isEmpty { resolved.request.projection += [.outlineChildren, .outlineDepth] }
    }

    private func expansion(_ entity: EntityDescription) throws -> OutlineExpansion {
        switch self.expand {
        case nil, "none"?: return .none
        case "all"?: return .all
        case let name?:
            let property = try entity.requireProperty(name)
            guard entity.attribute(property)?.type == .boolean else {
                let names = entity.attributes.filter { $0.type == .boolean }.map { entity.shownName($0.number) }
                throw CommandFailure(
                    .usage,
                    "--expand \(name): not a boolean attribute of \(entity.name); use none, all"
                        + (names.isEmpty ? "" : ", or one of \(listed(names))")
                )
            }
            return .attribute(property)
        }
    }

    /// Returns the objects of the first levels below an object that have others below them.
    static func objects(below source: FetchSource, levels: Int, _ client: NestClient) async throws -> [ObjectID] {
        guard levels > 0 else { return [] }
        // One level more shows which of the last level have others below them.
        let request = SubtreeRequest(root: source.object, relationship: source.relationship, depthLimit: levels + 1)
        return try await client.fetchSubtree(request) { subtree in
            var objects: [ObjectID] = []
            var last: SubtreeRow?
            for try await rows in subtree {
                for row in rows {
                    if let last, last.depth > 0, row.depth > last.depth, let id = last.id { objects.append(id) }
                    last = row
                }
                guard objects.count <= Limits.outlineExceptionsMax else {
                    throw CommandFailure(
                        .usage,
                        "--depth \(levels) unfolds more than \(Limits.outlineExceptionsMax) objects; "
                            + "use a smaller --depth, or --expand all"
                    )
                }
            }
            return objects
        }
    }
}
