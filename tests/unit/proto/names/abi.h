/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Whether a function of our table can stand in for one of HIP's: as many parameters, each of the
 * same size and of the same class of the x86-64 calling convention.
 */
#include <type_traits>

template <class A, class B> constexpr bool same_parameter()
{
	if (std::is_pointer_v<A> || std::is_pointer_v<B>)
		return std::is_pointer_v<A> == std::is_pointer_v<B>;
	if (std::is_class_v<A> || std::is_class_v<B>)
		return std::is_class_v<A> && std::is_class_v<B> && sizeof(A) == sizeof(B) &&
		       alignof(A) == alignof(B) && std::is_trivially_copyable_v<A> &&
		       std::is_trivially_copyable_v<B>;
	return sizeof(A) == sizeof(B) && std::is_floating_point_v<A> == std::is_floating_point_v<B>;
}

template <class A, class B> struct same_call : std::false_type {
};

template <class R, class... A, class S, class... B>
struct same_call<R (*)(A...), S (*)(B...)>
    : std::bool_constant<sizeof...(A) == sizeof...(B) && sizeof(R) == sizeof(S)> {
};

template <class A, class B> struct same_parameters;

template <class R, class... A, class S, class... B>
struct same_parameters<R (*)(A...), S (*)(B...)>
    : std::bool_constant<(same_parameter<A, B>() && ...)> {
};

#define SAME(name, ...)                                                                            \
	static_assert(                                                                             \
		same_call<decltype(&::name), int (*)(HOST_LIST(HOST_PARAM, __VA_ARGS__))>::value,  \
		#name ": parameters");                                                             \
	static_assert(same_parameters<decltype(&::name),                                           \
			      int (*)(HOST_LIST(HOST_PARAM, __VA_ARGS__))>::value,                 \
		#name ": their types");
