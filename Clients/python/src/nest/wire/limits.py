"""The limits that this client checks, under the names of protocol.md (section 17). Sizes are bytes."""

OBJECT_ID_MAX = 2**53 - 1
VARINT_MAX = 2**62 - 1
VALUE_BYTES_MAX = 65_536
LARGE_VALUE_BYTES_MAX = 16_777_216
NAME_BYTES_MAX = 256
MUTATIONS_PER_TRANSACTION_MAX = 10_000
PRECONDITIONS_PER_TRANSACTION_MAX = 10_000
RESERVED_IDS_PER_REQUEST_MAX = 65_536
RELATED_PER_MUTATION_MAX = 100_000
PROPERTIES_PER_ENTITY_MAX = 256
#: Properties of a projection or a transfer: an entity's, the entity itself, columns, depth and children.
PROJECTION_MAX = 323
ENTITIES_PER_MODEL_MAX = 1_000
SORT_KEYS_MAX = 8
COLUMNS_MAX = 64
TOTALS_MAX = 16
PATH_STEPS_MAX = 4
PREDICATE_NODES_MAX = 256
SUBQUERY_DEPTH_MAX = 4
PATTERNS_PER_MODEL_MAX = 4_096
REQUESTS_PER_MODEL_MAX = 1_000
PREDICATE_VALUES_MAX = 10_000
PREDICATE_TEXT_BYTES_MAX = 65_536
ZONE_NAME_BYTES_MAX = 64
OUTLINE_EXCEPTIONS_MAX = 65_536
FAULTS_PER_ERROR_MAX = 100
HISTORY_PAGE_MAX = 1_000
UNDO_CONFLICTS_MAX = 100
COALESCE_KEY_BYTES_MAX = 64
COALESCE_MILLISECONDS_MAX = 60_000
PREVIEW_OBJECTS_MAX = 1_000
CHANGES_ENTITIES_MAX = 1_000
STATISTICS_MAX = 1_000
CLIENTS_PAGE_MAX = 1_000
EXPLANATION_LIST_MAX = 1_000
EXPLANATION_TEXT_BYTES_MAX = 65_536
CHECK_PROBLEMS_MAX = 100
CHECK_PROBLEM_BYTES_MAX = 1_024
MODEL_CHANGES_MAX = 1_000
MODEL_CHANGE_BYTES_MAX = 512
TOKENS_MAX = 3_000
NODE_ADDRESS_BYTES_MAX = 255
CLUSTER_NODES_MAX = 256
CLUSTER_TEXT_BYTES_MAX = 1_024
PRESENCE_BYTES_MAX = 1_024
#: Presences of one PRESENCE: all who were present in a scope, and all who are.
PRESENCE_CHANGES_MAX = 1_024
CHUNK_ROWS_MAX = 65_536
CHUNK_UNPACKED_BYTES_MAX = 1_048_576
DEPTH_MAX = 1_048_576
#: Runs of results of one RECEIPT.
RUNS_MAX = 10_000
#: Tagged fields of a message, and of a fetch request.
FIELDS_MAX = 64
FETCH_FIELDS_MAX = 16

FRAME_BYTES_MAX = 1_048_576
FRAME_BYTES_BEFORE_WELCOME_MAX = 4_096
FRAME_UNPACKED_BYTES_MAX = 1_048_576
REQUEST_ID_MAX = 2**31 - 1
VIEW_ID_MIN = 2**31
VIEW_ID_MAX = 2**32 - 1
REQUESTS_IN_FLIGHT_PER_CONNECTION_MAX = 128

# What only the client decides.
#: Requests that wait for a connection, or for others in flight to be answered.
CLIENT_REQUESTS_WAITING_MAX = 65_536
#: Models that the client has read and keeps; a server has one.
MODELS_READ_MAX = 8
#: Changes of one subscription that its loop has not taken; then they become one snapshot.
CHANGES_WAITING_MAX = 256
#: Rows of the states of those changes, together.
ROWS_WAITING_MAX = 1_000_000
#: Bytes of changes of one feed that its loop has not taken; then the server keeps what follows.
CHANGE_BYTES_WAITING_MAX = 1_048_576
#: Bytes of a piece of a large value that is sent, and of a file that is read at once.
VALUE_PIECE_BYTES = 65_536
VALUE_READ_BYTES = 1_048_576
#: How often in a row a large value is requested again after a lost connection without a byte in between.
VALUE_RESUMPTIONS_MAX = 5
#: Time until a connection is made, with TLS.
CONNECT_SECONDS = 10.0
HANDSHAKE_SECONDS = 10.0
#: Time for what was sent to leave when the client is closed.
LINGER_SECONDS = 2.0
#: Time until a request fails that has no answer, if the program does not say otherwise.
REQUEST_SECONDS = 30.0
PING_TIMEOUT_SECONDS = 10.0
#: The shortest silence after which the client sends PING, whatever the server names.
PING_INTERVAL_SECONDS_MIN = 0.1
#: Addresses of the nodes of a cluster.
SERVER_ADDRESSES_MAX = 32
RECONNECT_SECONDS_MIN = 0.1
RECONNECT_SECONDS_MAX = 30.0
#: Age of a lost connection from which the next attempt to connect is made at once.
RECONNECT_HEALTHY_SECONDS = 30.0
#: The same for a connection to a node of a cluster: another node may be there.
RECONNECT_NODE_HEALTHY_SECONDS = 1.0
#: The longest pause before a subscription that a server could not take for now is requested again.
SUBSCRIBE_AGAIN_SECONDS_MAX = 1.0
#: Revisions of own writes that are remembered.
OWN_REVISIONS_MAX = 1_024
