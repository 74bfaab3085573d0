// The functions of libpq that catalogue/postgres.c calls.
#pragma once

#include <libpq-fe.h>

#include "late/late.h"

// clang-format off
#define LATE_LIBPQ(X) \
    X(PQclear) X(PQconnectdbParams) X(PQenterPipelineMode) X(PQerrorMessage) X(PQfinish) X(PQftype) \
    X(PQgetResult) X(PQgetisnull) X(PQgetvalue) X(PQnfields) X(PQntuples) X(PQpipelineSync) \
    X(PQresultErrorField) X(PQresultStatus) X(PQsendPrepare) X(PQsendQueryPrepared) X(PQsetNoticeReceiver) \
    X(PQstatus) X(PQtransactionStatus)
// clang-format on

struct libpq {
    LATE_LIBPQ(LATE_MEMBER)
};
