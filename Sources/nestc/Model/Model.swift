import ArgumentParser

/// `nestc model …`: models, of a server or in files.
struct Model: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look at a model: the entities that a store holds.",
        discussion: """
            Examples:
              nestc model show                           the server's
              nestc model show Shop.xcdatamodeld
              nestc model check Shop.xcdatamodeld        all that is wrong with it
              nestc model convert Shop.xcdatamodeld -o shop.json

            A model is Xcode's .xcdatamodeld or .xcdatamodel, the 'contents' file in one, or JSON; 'nestd --model' serves it.
            """,
        subcommands: [ShowModel.self, CheckModel.self, ConvertModel.self]
    )
}
